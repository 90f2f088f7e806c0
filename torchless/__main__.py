"""``python -m torchless``, and the console script: a Ctrl-C while modules are still being imported is one line, too."""

from __future__ import annotations

import gc
import os
import sys

# A run makes millions of tokens and rows that stay, and hardly any cycle: looking for cycles at Python's own pace
# (every 700 new objects) costs a tenth of a check.
_OBJECTS_PER_SEARCH = 200_000


def main() -> int:
    """Run the command line and give the exit code."""
    gc.set_threshold(_OBJECTS_PER_SEARCH, *gc.get_threshold()[1:])
    try:
        from torchless import cli
    except KeyboardInterrupt:
        print("torchless: error: interrupted; nothing was done", file=sys.stderr, flush=True)
        os._exit(2)  # a plain exit would end in the signal when the interrupt fell into an exec() of some import
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())

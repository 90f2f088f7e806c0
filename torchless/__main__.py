"""``python -m torchless``, and the console script: a Ctrl-C while modules are still being imported is one line, too."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line and give the exit code."""
    try:
        from torchless import cli
    except KeyboardInterrupt:
        print("torchless: error: interrupted; nothing was done", file=sys.stderr, flush=True)
        os._exit(2)  # a plain exit would end in the signal when the interrupt fell into an exec() of some import
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())

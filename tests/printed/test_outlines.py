"""What is known of headers that scripts write and that have no torch in them: headers of the checkout they include."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchless.printed.outlines import outlines_of
from torchless.rewrites.dispatch_tables.pytext import Script
from torchless.text.source import SourceFile

HEADERS = ("csrc/moe/dispatch.h", "csrc/moe/other.h", "csrc/a/twice.h", "csrc/b/twice.h")
WRITES = """
    TOP = '#pragma once\\n#include "other.h"\\n'
    class Gen:
        def lookup(self, rows):
            out = [TOP, '#include "dispatch.h"\\n']
            for row in rows:
                out.append(f"void {row}();")
            (self.folder / "lookup.h").write_text("".join(out))
    def unrelated():
        return '#include "dispatch.h"'
"""


def outlines(text: str) -> dict[str, tuple[str, ...]]:
    return outlines_of(Script(SourceFile("csrc/moe/gen.py", dedent(text).encode())), HEADERS)


def test_what_the_function_that_writes_a_header_spells_is_included() -> None:
    assert outlines(WRITES) == {"lookup.h": ("csrc/moe/dispatch.h", "csrc/moe/other.h")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"lookup.h"', '"lookup.cu"'),  # no header
        ('"lookup.h"', 'f"{rows}.h"'),  # who knows which
        ("write_text", "read_text"),
        ("include", "define"),
    ],
)
def test_others_are_not_known(old: str, new: str) -> None:
    assert outlines(WRITES.replace(old, new)) == {}


def test_a_name_that_may_mean_two_headers_means_none() -> None:
    text = WRITES.replace('"dispatch.h"', '"twice.h"').replace('"other.h"', '"absent.h"')
    assert outlines(text) == {}


def test_a_header_that_is_opened() -> None:
    text = """
        def write(folder):
            path = os.path.join(folder, "table.h")
            with open(path, "w") as f:
                f.write('#include "moe/dispatch.h"\\n')
    """
    assert outlines(text) == {"table.h": ("csrc/moe/dispatch.h",)}

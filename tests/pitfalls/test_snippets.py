"""Pieces of launchers that tools of this kind have broken, each through the whole engine.

tests/fixtures/pitfalls/Pnn/NAME.before.cu is what stands in a source, NAME.after.cu what must come out. Those that are
edited stand in one source together, so that one parse serves them all; those that must stay as they are have a source
each. Every source begins with HEAD.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.pitfalls.conftest import EXAMPLE, FIXTURES, Ran, add, run
from torchless.model import UnitStatus

HEAD = """#include <torch/extension.h>
#include <hip/hip_runtime.h>
#include "aiter_hip_common.h"
#include "dispatch_utils.h"

"""
HEAD_AFTER = """#include <algorithm>
#include <optional>
#include <hip/hip_runtime.h>
#include "aiter_hip_common.h"
#include "aiter_dispatch.h"
#include "aiter_tensor.h"

"""
EDITED = tuple(sorted(f"{p.parent.name}/{p.name.partition('.')[0]}" for p in FIXTURES.glob("P*/*.after.cu")))
LEFT: Mapping[str, tuple[UnitStatus, str]] = {
    "P16/pasted": (UnitStatus.BLOCKED, "TL010"),
    "P18/halves": (UnitStatus.BACKED_OUT, "TL008"),
    "P22/expression": (UnitStatus.BLOCKED, "TL010"),
    "P25/swallowed": (UnitStatus.UNCHECKED, "TL007"),
    "P28/dependent": (UnitStatus.BLOCKED, "TL010"),
    "P40/number": (UnitStatus.BLOCKED, "TL212"),
    "P40/size": (UnitStatus.BLOCKED, "TL234"),
    "P42/caught": (UnitStatus.BLOCKED, "TL010"),
}
TOGETHER = "csrc/kernels/pitfalls.cu"

Written = Callable[[str], bytes]


def as_unix(text: str) -> bytes:
    return text.encode()


def as_windows(text: str) -> bytes:
    """A BOM, bytes that are no UTF-8, and CRLF throughout."""
    return b"\xef\xbb\xbf// caf\xe9 \xd6l\r\n" + text.replace("\n", "\r\n").encode()


def snippet(case: str, when: str) -> str:
    return (FIXTURES / f"{case}.{when}.cu").read_text()


def whole(head: str, when: str) -> str:
    """The text of the source that holds all edited snippets, each under a line with its name."""
    return head + "".join(f"// {case}\n{snippet(case, when)}" for case in EDITED)


def source_of(case: str) -> str:
    return TOGETHER if case in EDITED else f"csrc/kernels/{case.replace('/', '_')}.cu"


def build(folder: Path, written: Written, cases: Mapping[str, object]) -> Path:
    root = Path(shutil.copytree(EXAMPLE, folder / "mini-aiter"))
    together = whole(HEAD, "before")
    add(root, {"csrc/kernels/p23_table.inc": written("1, 2, 3\n"), TOGETHER: written(together)})
    add(root, {source_of(case): written(HEAD + snippet(case, "before")) for case in cases})
    return root


@pytest.fixture(scope="module")
def unix(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(build(tmp_path_factory.mktemp("unix"), as_unix, LEFT))


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(build(tmp_path_factory.mktemp("windows"), as_windows, {}))


def test_those_that_are_edited_migrate(unix: Ran, windows: Ran) -> None:
    for ran in (unix, windows):
        unit = ran.unit(TOGETHER)
        assert unit.status is UnitStatus.MIGRATED, [f for f in unit.findings if f.blocks or not f.edits]
        assert ran.status("csrc/kernels/scale_kernels.cu") is UnitStatus.MIGRATED


@pytest.mark.parametrize("case", EDITED)
def test_edited(case: str, unix: Ran) -> None:
    texts = re.split(r"^// (P\d\d/\w+)\n", unix.after[TOGETHER].decode(), flags=re.M)
    assert dict(zip(texts[1::2], texts[2::2], strict=True))[case] == snippet(case, "after")


@pytest.mark.parametrize(("eol", "written"), [("unix", as_unix), ("windows", as_windows)], ids=["LF", "CRLF and BOM"])
def test_p06_p07_p08_nothing_but_the_edits_changes(eol: str, written: Written, request: pytest.FixtureRequest) -> None:
    ran: Ran = request.getfixturevalue(eol)
    assert ran.after[TOGETHER] == written(whole(HEAD_AFTER, "after"))


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str, unix: Ran) -> None:
    path = source_of(case)
    status, code = LEFT[case]
    assert unix.status(path) is status
    assert unix.findings(path, code)
    assert unix.after[path] == unix.before[path]
    assert not unix.unit(path).edits


def test_p21_what_no_pass_compiles_is_said(unix: Ran) -> None:
    lines = unix.before[TOGETHER].decode().splitlines()
    found = {lines[f.line - 1].strip() for f in unix.findings(TOGETHER, "TL011")}
    assert found == {
        "void arms(torch::Tensor& x, const torch::Tensor& y)",
        "void signature(torch::Tensor& x,",
        "run(x.data_ptr<float>(), 1);",
    }
    (told,) = unix.findings(TOGETHER, "TL012")
    assert lines[told.line - 1].startswith("torch::Tensor never(")


def test_p42_the_ledger_names_the_handler(unix: Ran) -> None:
    entries = [entry for entry in unix.unit(TOGETHER).ledger if entry.kind == "exception"]
    lines = unix.before[TOGETHER].decode().splitlines()
    assert [lines[entry.line - 1].strip() for entry in entries if "handler" in entry.message] == ["try"]
    assert any("end the process" in entry.message for entry in entries)
    caught = unix.unit(source_of("P42/caught")).findings
    assert any("Error" in f.message and f.help for f in caught if f.blocks)


def test_p40_the_size_of_a_dtype_object_changes_on_request(unix: Ran, tmp_path: Path) -> None:
    path = source_of("P40/size")
    root = Path(shutil.copytree(unix.root, tmp_path / "mini-aiter"))
    ran = run(root, paths=(path,), unsafe=True)
    assert ran.changed == {path}
    assert b"return x.numel() * x.element_size();" in ran.after[path]

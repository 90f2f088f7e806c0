"""Which units share a batch, who owns what, what a batch buys, what applies alone: without an engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from campaign_samples import files, lay_out

from torchless.campaign.apart import applies_alone, near
from torchless.campaign.formatting import formatters_say
from torchless.campaign.gain import measured_in, meter
from torchless.campaign.grouping import SHARED, Known, grouped, over
from torchless.campaign.model import GroupBy, Limits
from torchless.campaign.owners import owners_of
from torchless.errors import ToolError
from torchless.model import Unit
from torchless.options import MigrateOptions
from torchless.profile.model import FRONT_END, PassProfile, Profile, Seconds, UnitProfile
from torchless.profile.store import SCHEMA_VERSION, to_data
from torchless.project.discover import load


def unit(name: str, *paths: str, modules: tuple[str, ...] = ()) -> Unit:
    return Unit(name, modules, (name,), paths)


def size(units: Sequence[Unit]) -> tuple[int, int]:
    """Every file has ten changed lines."""
    count = len({path for each in units for path in each.files})
    return count, 10 * count


NO_LIMITS = Limits()
HERE = Path()


def names(
    units: Sequence[Unit],
    by: GroupBy = GroupBy.MODULE,
    limits: Limits = NO_LIMITS,
    root: Path = HERE,
    known: Sequence[Known] = (),
) -> dict[str, list[str]]:
    return {name: [u.name for u in found] for name, found in grouped(units, by, limits, size, root, known).items()}


A = unit("a", "csrc/a/a.cu", "csrc/pybind/a.cu", modules=("m_a",))
B = unit("b", "csrc/b/b.cu", modules=("m_b",))
BOTH = unit("m_b+1", "csrc/b/c.cu", modules=("m_b", "m_c"))
PLAIN = unit("x/x.cu:x", "x/x.cu")
HEADER = unit("inc/h.h:f", "inc/h.h")
OTHER_HEADER = unit("inc/i.h:g", "inc/i.h")


def test_one_module_a_batch_and_shared_headers_apart() -> None:
    assert names([B, A, PLAIN, HEADER, OTHER_HEADER]) == {
        "m_a": ["a"],
        "m_b": ["b"],
        SHARED: ["inc/h.h:f", "inc/i.h:g"],
        "x/x.cu": ["x/x.cu:x"],
    }


def test_a_header_that_takes_its_includers_along_is_a_shared_one() -> None:
    """The unit is called by its header, and edits sources that ask for what it gave everybody."""
    along = unit("inc/opt.h", "inc/opt.h", "a.cu", "b.cu")
    assert names([A, along, HEADER]) == {"m_a": ["a"], SHARED: ["inc/h.h:f", "inc/opt.h"]}


def test_modules_that_a_unit_ties_together() -> None:
    assert names([A, B, BOTH]) == {"m_a": ["a"], "m_b+1": ["b", "m_b+1"]}
    chain = [unit(f"u{n}", f"u{n}.cu", modules=(f"m{n}", f"m{n + 1}")) for n in (3, 1, 2)]
    assert names(chain) == {"m1+3": ["u1", "u2", "u3"]}


def test_by_directory_and_within_limits() -> None:
    units = [unit(f"u{n}", f"csrc/k/{n}.cu") for n in range(5)]
    assert names(units, GroupBy.DIRECTORY) == {"csrc/k": [f"u{n}" for n in range(5)]}
    limited = names(units, GroupBy.DIRECTORY, Limits(files=2))
    assert limited == {"csrc/k": ["u0", "u1"], "csrc/k#2": ["u2", "u3"], "csrc/k#3": ["u4"]}
    assert [len(found) for found in names(units, GroupBy.DIRECTORY, Limits(lines=30)).values()] == [3, 2]
    large = unit("large", "csrc/k/a.cu", "csrc/k/b.cu", "csrc/k/c.cu")
    assert names([large], GroupBy.DIRECTORY, Limits(files=2)) == {"csrc/k": ["large"]}
    assert over([large], Limits(files=2, lines=29), size) == (
        "3 files, and the limit is 2",
        "30 lines, and the limit is 29",
    )
    assert over([large], Limits(), size) == () == over([large], Limits(3, 30), size)


def test_what_was_in_a_batch_stays_there() -> None:
    known = [Known("mine", ("x/x.cu:x", "gone"), ()), Known("m_b", ("old name",), ("m_b",))]
    assert names([A, B, PLAIN], known=known) == {"mine": ["x/x.cu:x"], "m_b": ["b"], "m_a": ["a"]}
    assert names([A], known=[Known("m_a", ("other",), ())]) == {"m_a#2": ["a"]}


def test_by_owner(tmp_path: Path) -> None:
    assert owners_of(tmp_path) is None
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/CODEOWNERS").write_text(
        "# people\n*       @all\n/csrc/  @kernels @lee # the core\ncsrc/b/\n*.h me@example.org\n[Section]\n"
    )
    owners = owners_of(tmp_path)
    assert owners is not None
    assert owners("setup.py") == ("@all",)
    assert owners("csrc/a/a.cu") == ("@kernels", "@lee")
    assert owners("csrc/b/b.cu") == ()
    assert owners("csrc/b/x.h") == ("me@example.org",)
    assert names([A, B], GroupBy.OWNER, root=tmp_path) == {"@kernels @lee": ["a"], "nobody": ["b"]}


TEXT = b"".join(b"line %d\n" % n for n in range(60))


def changed(text: bytes, *lines: int) -> bytes:
    for line in lines:
        text = text.replace(b"line %d\n" % line, b"LINE %d\n" % line)
    return text


@pytest.mark.parametrize(("other", "alone"), [(10, False), (13, False), (14, True), (40, True)])
def test_a_patch_applies_alone_when_its_context_does(other: int, alone: bool) -> None:
    before, after = changed(TEXT, other), changed(TEXT, other, 11 if other == 10 else 10)
    mine = changed(TEXT, 11 if other == 10 else 10)
    assert applies_alone("x", TEXT, before, after, mine) is alone
    assert near(TEXT, mine, changed(TEXT, other)) or alone


def test_what_applies_and_gives_something_else_does_not_count() -> None:
    before, after = changed(TEXT, 40), changed(TEXT, 40, 10)
    assert not applies_alone("x", TEXT, before, after, changed(TEXT, 10, 20))
    assert applies_alone("x", TEXT, TEXT, after, after) and not applies_alone("x", TEXT, TEXT, after, before)
    assert applies_alone("x", TEXT, before, before, TEXT) and not applies_alone("x", TEXT, before, before, after)


def test_without_git_only_the_same_text_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert not applies_alone("x", TEXT, changed(TEXT, 40), changed(TEXT, 40, 10), changed(TEXT, 10))
    assert applies_alone("x", TEXT, TEXT, changed(TEXT, 10), changed(TEXT, 10))


def test_what_a_change_buys(tmp_path: Path) -> None:
    root = lay_out(tmp_path, files())
    project = load(root, ())
    options = MigrateOptions((str(root),))
    light = {"csrc/include/alpha.h": b"#pragma once\n"}
    gain = meter(project, options, {}).gain({}, light)
    assert gain.seconds is None and gain.lines > 100_000 and gain.worth == gain.lines
    assert gain.before < 4 * 700_000  # alpha's two sources in two passes, nobody else's
    assert meter(project, options, {}).gain(light, light).lines == 0
    assert meter(project, options, {}).gain(light, {}).lines == -gain.lines
    units = tuple(
        UnitProfile(source, "module_alpha", "derived", (PassProfile("host", None, (Seconds(9, 8), Seconds(5, 4))),))
        for source in ("csrc/kernels/alpha.cu", "csrc/kernels/beta.cu")
    )
    profile = Profile(str(root), "", FRONT_END, (), 1, 1, units)
    file = tmp_path / "profile.json"
    file.write_text(json.dumps({"schema_version": SCHEMA_VERSION, "profiles": [to_data(profile)]}))
    timed = meter(project, options, measured_in(file)).gain({}, light)
    assert timed.seconds is not None and 0 < timed.seconds < 4 and timed.worth == timed.seconds
    with pytest.raises(ToolError, match=r"none\.json"):
        measured_in(tmp_path / "none.json")


def test_formatters_are_asked_about_changed_lines_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = b"x = {  'a':1 }\ny = 1\n", b"x = {  'a':1 }\ny = 2\n"
    assert "no formatter that torchless knows" in formatters_say(tmp_path, {"a.py": old}, {"a.py": new})
    (tmp_path / "pyproject.toml").write_text("[tool.black]\n")
    assert "black agrees" in formatters_say(tmp_path, {"a.py": old}, {"a.py": new})
    ugly = new.replace(b"y = 2", b"y =  2")
    assert "black would touch changed lines of a.py" in formatters_say(tmp_path, {"a.py": old}, {"a.py": ugly})
    (tmp_path / ".clang-format").write_text("BasedOnStyle: LLVM\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    c = {"a.cu": b"int  a;\nint b;\n"}
    edited = {"a.cu": b"int  a;\nint c;\n"}
    assert "clang-format is not on this machine" in formatters_say(tmp_path, c, edited)
    monkeypatch.undo()
    fake = tools / "clang-format"
    fake.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/asked"\nexec sed "2s/int c/int  c/;$FORMAT"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    assert "clang-format would touch changed lines of a.cu" in formatters_say(tmp_path, c, edited)
    assert (tools / "asked").read_text().startswith("--lines=2:2 --assume-filename=")
    monkeypatch.setenv("FORMAT", "2s/int  c/int c/")
    assert "clang-format agrees" in formatters_say(tmp_path, c, edited)


@pytest.mark.parametrize(
    ("path", "text", "known"),
    [
        (".githooks/pre-commit", 'for file in $files; do\n    black "$file"\ndone\n', True),
        (".github/workflows/style.yaml", "    steps:\n      - uses: psf/black@stable\n", True),
        (".github/workflows/style.yaml", "    name: all black and white\n", False),
    ],
)
def test_where_a_formatter_is_named(tmp_path: Path, path: str, text: str, known: bool) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text)
    assert ("black agrees" in formatters_say(tmp_path, {"a.py": b"x = 1\n"}, {"a.py": b"x = 2\n"})) is known

"""PITFALLS.md names tests that exist, and all of this folder's."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.pitfalls.test_snippets import EDITED, LEFT

HERE = Path(__file__).parent
TABLE = (HERE / "PITFALLS.md").read_text()
ROWS = {row[0]: row[1:] for row in re.findall(r"^\| (P\d\d) \|([^|]*)\|([^|]*)\|([^|]*)\|$", TABLE, re.M)}
ENTRY = re.compile(r"`([\w/]+\.py)(?:::(\w+)(?:\[([\w/]+)\])?)?`")
ENGINE = [*range(1, 34), 36, 39, 40, 42, 43]  # what must be shown through the engine


def names_of(path: Path) -> set[str]:
    """The test functions of a file, none for one that is not there."""
    if not path.is_file():
        return set()
    return {
        n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef) and n.name[:5] == "test_"
    }


def test_every_pitfall_has_a_row() -> None:
    assert list(ROWS) == [f"P{number:02d}" for number in range(1, 47)]
    for name, (_, engine, layers) in ROWS.items():
        assert ENTRY.search(engine + layers) or "does not apply: " in engine, name
    for number in ENGINE:
        assert ENTRY.search(ROWS[f"P{number:02d}"][1]), number


def test_every_entry_is_a_test() -> None:
    for file, name, case in ENTRY.findall(TABLE):
        if file == "test_table.py":
            continue
        path = HERE / file if "/" not in file else HERE.parent / file
        found = names_of(path)
        assert found and (not name or name in found), f"{file}::{name}"
        assert not case or case in {"test_edited": EDITED, "test_left": LEFT}[name], case


def test_every_test_of_this_folder_has_an_entry() -> None:
    named = {(file, name) for file, name, _ in ENTRY.findall(TABLE)}
    written = {(p.name, name) for p in HERE.glob("test_*.py") if p.name != "test_table.py" for name in names_of(p)}
    assert written - named == {("test_snippets.py", "test_those_that_are_edited_migrate")}
    cases = {(name, case) for _, name, case in ENTRY.findall(TABLE) if case}
    assert cases == {("test_edited", case) for case in EDITED} | {("test_left", case) for case in LEFT}


def test_a_case_stands_in_the_row_of_its_number() -> None:
    for row, (_, engine, _) in ROWS.items():
        for _, name, case in ENTRY.findall(engine):
            numbers = re.findall(r"p\d\d", name) or ([case[:3].lower()] if case else [])
            assert not numbers or row.lower() in numbers, f"{name} in {row}"

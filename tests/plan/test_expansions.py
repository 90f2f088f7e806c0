"""A check sees the edits of the macros that its unit can expand, and of no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from torchless.facts.model import Diagnostic, FileFacts, NameFact, TuFacts
from torchless.facts.spec import TuSpec
from torchless.facts.typing import make_view
from torchless.model import Edit
from torchless.plan.assemble import Assembled
from torchless.plan.expansions import Expansions, in_full
from torchless.text.edits import apply
from torchless.text.source import SourceFile
from torchless.units.entities import EntityIndex, entities_of

ROWS = b"""\
#pragma once
#define ALPHA_ROW m.def("alpha", &alpha)
#define BETA_ROW m.def("beta", &beta); TAIL
#define GAMMA_ROW m.def("gamma", &gamma)
#define TAIL m.def("tail", &tail)
int plain;
"""
FILES = {
    "rows.h": ROWS,
    "alpha.cu": b'#include "rows.h"\nvoid f() { ALPHA_ROW; }\n',
    "beta.cu": b'#include "rows.h"\nvoid f() { BETA_ROW; }\n',
    "pasted.cu": b'#include "rows.h"\nROW(GAMMA);\n',
    "none.cu": b'#include "rows.h"\n// rows of all kinds\n',
}


def at(old: bytes, new: bytes, path: str = "rows.h") -> Edit:
    start = FILES[path].index(old)
    return Edit(path, start, start + len(old), new)


ALPHA, BETA, GAMMA = (at(b"&%s" % n, b"&my::%s" % n) for n in (b"alpha", b"beta", b"gamma"))
TAIL, PLAIN = at(b"&tail", b"&my::tail"), at(b"int plain", b"long plain")


def assembled(edits: Iterable[Edit]) -> Assembled:
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    texts = {path: apply(FILES[path], found) for path, found in by_path.items()}
    return Assembled(texts, {path: tuple(sorted(found)) for path, found in by_path.items()}, {}, ())


def seen(
    source: str,
    edits: Iterable[Edit],
    created: Iterable[bytes] = (),
    names: Mapping[str, int] | None = None,
    known: Iterable[str] = FILES,
) -> set[Edit]:
    made = assembled(edits)
    sources = {path: SourceFile(path, data) for path, data in FILES.items()}
    index = EntityIndex(e for path in known for e in entities_of(make_view(sources[path])))

    def read(path: str) -> SourceFile:
        if path not in sources:
            raise FileNotFoundError(path)
        return sources[path]

    facts = [NameFact(offset, "value", name, "") for name, offset in (names or {}).items()]
    tu = TuFacts(TuSpec(source), (FileFacts("rows.h", tuple(facts)),))
    expansions = Expansions(made.edits, made, index, read, {})  # type: ignore[arg-type]
    return set(expansions.seen(tu, {source, "rows.h", "torch/extension.h"}, created))


EVERYTHING = (ALPHA, BETA, GAMMA, TAIL, PLAIN)


def test_only_macros_that_are_named_and_what_is_no_macro() -> None:
    assert seen("alpha.cu", EVERYTHING) == {ALPHA, PLAIN}
    assert seen("none.cu", EVERYTHING) == {PLAIN}


def test_a_file_that_was_not_looked_at() -> None:
    assert seen("alpha.cu", EVERYTHING, known=()) == {ALPHA, PLAIN}


def test_a_macro_that_another_one_names() -> None:
    assert seen("beta.cu", EVERYTHING) == {BETA, TAIL, PLAIN}
    # and one that it will name
    named = Edit("rows.h", ROWS.index(b"&alpha"), ROWS.index(b"&alpha"), b"GAMMA_ROW, ")
    assert seen("alpha.cu", (named, GAMMA, TAIL)) == {named, GAMMA}


def test_a_macro_whose_name_is_pasted_together_is_known_by_what_the_compiler_saw_in_it() -> None:
    assert seen("pasted.cu", EVERYTHING) == {PLAIN}
    assert seen("pasted.cu", EVERYTHING, names={"gamma": ROWS.index(b"gamma", ROWS.index(b"&"))}) == {GAMMA, PLAIN}


def test_names_in_text_that_is_new() -> None:
    named = at(b"// rows of all kinds", b"void g() { GAMMA_ROW; }", "none.cu")
    assert seen("none.cu", (*EVERYTHING, named)) == {GAMMA, PLAIN, named}
    outside = Edit("rows.h", PLAIN.start, PLAIN.start, b"void g() { GAMMA_ROW; }\n")
    assert seen("none.cu", (GAMMA, ALPHA, outside)) == {GAMMA, outside}
    assert seen("none.cu", EVERYTHING, created=[b"TAIL;"]) == {TAIL, PLAIN}


@pytest.mark.parametrize("where", [b"gamma", b"my::g", b"int plain", b"plain"])
def test_a_diagnostic_is_where_it_is_with_all_edits(where: bytes) -> None:
    more = Edit("rows.h", 13, 13, b"// one line\n// another\n")
    mine, everything = (GAMMA,), assembled((more, ALPHA, GAMMA))
    here, there = apply(ROWS, mine), everything.texts["rows.h"]
    offset = here.rindex(where)
    found = in_full(Diagnostic("rows.h", offset, here.count(b"\n", 0, offset) + 1, 3, 0, "x"), mine, everything)
    assert found.offset == there.rindex(where) and found.line == there.count(b"\n", 0, found.offset) + 1
    same = Diagnostic("none.cu", 3, 1, 3, 0, "x")
    assert in_full(same, mine, everything) == same

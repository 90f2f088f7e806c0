from __future__ import annotations

import pytest

from torchless.text.dead import live_tokens, split_dead
from torchless.text.lexer import code_tokens, lex

CASES = {
    "#if 0\nx;\n#endif\ny;": "x ;",
    "#if 0 // off\nx;\n#else\ny;\n#endif": "x ;",
    "#if 1\ny;\n#else\nx;\n#endif": "x ;",
    "#if 1\ny;\n#elif A\nx;\n#else\nz;\n#endif\ny;": "x ; z ;",
    "#if A\ny;\n#elif 0\nx;\n#elif 1\ny;\n#else\nz;\n#endif": "x ; z ;",
    "#if 0\nx\n#if A\n#define B(a) \\\n  a\n#endif\n#else\ny\n#endif\ny": "x # if A # define B ( a ) a # endif",
    "#if 0\n#if 1\nx\n#endif\nx\n#endif\n#if A\ny\n#endif": "# if 1 x # endif x",
    "#if A\n#if 0\nx\n#endif\ny\n#else\ny\n#endif": "x",
    "#if 0\nx": "x",
    "#if 0\n#include <torch/all.h>\n#endif": "# include <torch/all.h>",
    "#if \\\n 0\nx\n#endif": "x",
}
KEPT = [
    "#if A\nx\n#else\ny\n#endif",
    "#ifdef 0\nx\n#endif",
    "#if 0 || A\nx\n#endif",
    "#if !1\nx\n#endif",
    "#if 0L\nx\n#endif",
    "#if\nx\n#endif",
    "#if",
    "#else\nx\n#endif\nx\n#endif",
    "#define X 0\n#if X\nx\n#endif",
    '"#if 0"; // #if 0\nx;\n/*\n#if 0\n*/ x;',
    "#elif 0\nx",
]


@pytest.mark.parametrize("text", CASES)
def test_what_is_dead(text: str) -> None:
    tokens = code_tokens(lex(text.encode()))
    live, dead = split_dead(tokens)
    assert b" ".join(t.text for t in dead).decode() == CASES[text]
    assert sorted([*live, *dead], key=lambda t: t.start) == tokens
    assert live_tokens(live) == live


@pytest.mark.parametrize("text", KEPT)
def test_what_may_be_compiled_is_live(text: str) -> None:
    tokens = code_tokens(lex(text.encode()))
    assert split_dead(tokens) == (tokens, [])

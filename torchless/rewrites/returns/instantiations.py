"""Explicit instantiations of functions that give tensors back: ``template torch::Tensor f<int>(torch::Tensor&);``."""

from __future__ import annotations

from collections.abc import Callable

from torchless.model import Edit, Finding
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.reading import Reading, instantiations_of

CODE = "TL280"


def rewrite_instantiations(reading: Reading, becomes_void: Callable[[str, int], bool]) -> list[Finding]:
    """TL280 for each instantiation of a function that becomes void and keeps its parameters.

    ``becomes_void`` tells that of a name (unqualified) and a number of parameters.
    """
    tokens, path = reading.view.tokens, reading.view.source.path
    out: list[Finding] = []
    for use, name, opener in instantiations_of(reading.view, reading.scopes):
        called = tokens[name].text.decode("latin-1")
        if not becomes_void(called, len(split_arguments(reading.scopes, opener))):
            continue
        start, end = tokens[use.outer_first].start, tokens[use.outer_last].end
        text = f"{called} becomes void, and its instantiation with it"
        out.append(Finding(CODE, text, path, start, end, edits=(Edit(path, start, end, b"void", CODE),)))
    return out

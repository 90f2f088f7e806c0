"""Ways to run a rewrite on a text, and to compare it in every disguise that a file may wear."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from torchless.facts.typing import FileView, make_view
from torchless.model import Finding
from torchless.text.edits import apply
from torchless.text.source import BOM, SourceFile

Rewrite = Callable[[FileView], Sequence[Finding]]


def make(text: str | bytes, path: str = "csrc/kernels/x.cu") -> FileView:
    """A view without any compiler facts: what the text alone says."""
    return make_view(SourceFile(path, text if isinstance(text, bytes) else text.encode()))


def run(rewrite: Rewrite, view: FileView) -> bytes:
    edits = [e for f in rewrite(view) for e in f.edits if e.path == view.source.path]
    return apply(view.source.data, edits)


DISGUISES: dict[str, Callable[[bytes], bytes]] = {
    "LF": lambda data: data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "BOM and CJK comment": lambda data: BOM + "// 張量\n\n".encode() + data,
    "Latin-1 comment": lambda data: b"// caf\xe9\n\n" + data,
    "no final newline": lambda data: data.rstrip(b"\n"),
}


@pytest.fixture
def view() -> Callable[..., FileView]:
    return make


@pytest.fixture
def rewrites() -> Callable[..., None]:
    """rewrites(rewrite, before, after): in every disguise, and a second run finds nothing to edit."""

    def check(rewrite: Rewrite, before: str, after: str, path: str = "csrc/kernels/x.cu") -> None:
        assert before != after, "use keeps() for what must stay"
        for name, disguise in DISGUISES.items():
            old, want = disguise(before.encode()), disguise(after.encode())
            got = run(rewrite, make(old, path))
            assert got.decode("latin-1") == want.decode("latin-1"), name
            again = [f for f in rewrite(make(got, path)) if f.edits]
            assert not again, f"second run, {name}: {again[0]}"

    return check


@pytest.fixture
def keeps() -> Callable[..., list[Finding]]:
    """keeps(rewrite, text): no edit; the findings are handed back."""

    def check(rewrite: Rewrite, text: str, path: str = "csrc/kernels/x.cu") -> list[Finding]:
        found = list(rewrite(make(text, path)))
        assert [f.edits for f in found if f.edits] == []
        return found

    return check

"""What the target's sources are written with parses over the stubs, section by section, in both passes."""

from __future__ import annotations

import pytest

from tests.stubs.conftest import PASSES, section_errors, sections

FILES = ("hip", "torch", "pybind", "ck", "target", "std")


@PASSES
@pytest.mark.parametrize(("file", "section"), [(file, title) for file in FILES for title in sections(file)])
def test_snippet_parses(file: str, section: str, device: bool) -> None:
    assert section_errors(file, device=device).get(section, []) == []


@pytest.mark.parametrize("section", [title for title in sections("torch_wrong") if title != "the headers"])
def test_wrong_snippet_does_not(section: str) -> None:
    """The stubs say no as well: what torch has not, they have not."""
    assert section_errors("torch_wrong", device=False).get(section), section

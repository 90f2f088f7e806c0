"""The order in which a unit reads its files, and that order without a directive."""

from __future__ import annotations

from torchless.closure.model import Closure, Edge
from torchless.facts.spec import TuSpec
from torchless.reliance.order import Reading, edges_by_includer, reading


def closure(*includes: tuple[str, int, str]) -> Closure:
    """A closure of a.cu with these (includer, offset, target)."""
    edges = tuple(Edge(includer, offset, 1, target, False, target) for includer, offset, target in includes)
    return Closure(TuSpec("a.cu"), edges, {}, {})


def read(of: Closure, *without: tuple[str, int]) -> Reading:
    return reading("a.cu", edges_by_includer(of), without)


DIAMOND = closure(("a.cu", 0, "x.h"), ("x.h", 0, "base.h"), ("a.cu", 9, "y.h"), ("y.h", 0, "base.h"), ("y.h", 5, "z.h"))


def test_files_are_entered_once_in_the_order_of_the_text() -> None:
    found = read(DIAMOND)
    assert list(found.entered) == ["a.cu", "x.h", "base.h", "y.h", "z.h"]
    assert found.opened["base.h"] == ("x.h", 0)
    assert found.through(("a.cu", 0), "x.h") == ("x.h", "base.h")
    assert found.through(("y.h", 0), "base.h") == ()  # it was there before


def test_without_a_directive_a_file_comes_later_or_not_at_all() -> None:
    found = read(DIAMOND, ("a.cu", 0))
    assert list(found.entered) == ["a.cu", "y.h", "base.h", "z.h"]
    assert "z.h" not in read(DIAMOND, ("y.h", 5)).entered


def test_before_means_before_the_user_ends() -> None:
    found = read(DIAMOND)
    assert found.has_before("base.h", "x.h") and found.has_before("z.h", "a.cu") and found.has_before("z.h", "y.h")
    assert not found.has_before("z.h", "x.h") and not found.has_before("y.h", "base.h")
    assert not found.has_before("nowhere.h", "a.cu")


def test_a_cycle_ends() -> None:
    found = read(closure(("a.cu", 0, "x.h"), ("x.h", 0, "y.h"), ("y.h", 0, "x.h"), ("y.h", 4, "a.cu")))
    assert list(found.entered) == ["a.cu", "x.h", "y.h"]

"""What a suppression comment means for the unit that its finding belongs to."""

from __future__ import annotations

import pytest

from torchless.model import Edit, Finding, Tier
from torchless.plan.suppression import Suppressor
from torchless.text.source import SourceFile

TEXT = """\
void f(T& x)
{
    replaced;  // torchless: ignore[TL301] raised on purpose
    inserted;  // torchless: ignore[TL310,TL701]
    blocked;   // torchless: ignore[TL490]
    plain;
}
"""


def finding(word: str, code: str, new: bytes | None = b"new", *, path: str = "a.cu", blocks: bool = False) -> Finding:
    """A finding at ``word`` that replaces it; without ``new`` it edits nothing; b"+..." is inserted before it."""
    at = TEXT.index(word)
    end = at if new is not None and new.startswith(b"+") else at + len(word)
    edits = () if new is None else (Edit(path, at, end, new, code),)
    return Finding(code, f"message of {code}", path, at, at + len(word), edits=edits, blocks=blocks)


@pytest.fixture
def suppressor() -> Suppressor:
    def read(path: str) -> SourceFile:
        if path == "gone.cu":
            raise OSError("gone")
        return SourceFile(path, TEXT.encode())

    return Suppressor(read)


def test_a_suppressed_construct_blocks_its_unit(suppressor: Suppressor) -> None:
    (left,) = suppressor.settle([finding("replaced", "TL301")])
    assert (left.code, left.edits, left.blocks, left.tier) == ("TL301", (), True, Tier.DISPLAY)
    assert left.message == "left alone on request (raised on purpose): message of TL301"
    assert "take the comment out" in left.help


def test_a_suppressed_check_that_is_only_added_just_goes(suppressor: Suppressor) -> None:
    assert suppressor.settle([finding("inserted", "TL310", b"+check")]) == []


def test_what_the_rest_of_the_unit_needs_blocks_even_when_it_is_only_added(suppressor: Suppressor) -> None:
    (left,) = suppressor.settle([finding("inserted", "TL701", b"+, develop=True")])
    assert left.blocks and left.edits == () and "no reason given" in left.message


def test_a_suppressed_blocker_still_blocks(suppressor: Suppressor) -> None:
    (left,) = suppressor.settle([finding("blocked", "TL490", None, blocks=True)])
    assert left.blocks and left.code == "TL490"


def test_a_suppressed_remark_just_goes(suppressor: Suppressor) -> None:
    assert suppressor.settle([finding("replaced", "TL301", None)]) == []


def test_others_stay_as_they_are(suppressor: Suppressor) -> None:
    others = [finding("plain", "TL301"), finding("replaced", "TL201"), finding("plain", "TL310", path="gone.cu")]
    assert suppressor.settle(others) == others
    assert suppressor.settle([]) == []


def test_an_include_line_stays_without_a_blocker(suppressor: Suppressor) -> None:
    kept = finding("plain", "TL101")
    assert suppressor.unsuppressed([finding("replaced", "TL301"), kept]) == [kept]


def test_comments_that_suppress_nothing_are_stale(suppressor: Suppressor) -> None:
    suppressor.settle([finding("replaced", "TL301")])
    suppressor.settle([finding("inserted", "TL310", b"+check"), finding("plain", "TL490", None, blocks=True)])
    stale = suppressor.stale(["a.cu"], lambda prefix: True)
    assert [f.code for f in stale] == ["TL001", "TL001"]
    assert ["TL701" in stale[0].message, "TL490" in stale[1].message] == [True, True]
    # what was found in either way counts
    suppressor.unsuppressed([finding("inserted", "TL701")])
    assert len(suppressor.stale(["a.cu"], lambda prefix: True)) == 1


def test_nothing_is_stale_that_was_not_looked_for(suppressor: Suppressor) -> None:
    suppressor.settle([])
    assert suppressor.stale(["a.cu"], lambda prefix: False) == []
    assert suppressor.stale([], lambda prefix: True) == []
    assert [len(suppressor.stale([p], lambda prefix: True)) for p in ("a.cu", "gone.cu")] == [4, 0]

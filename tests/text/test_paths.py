"""One file has one name, however it was reached."""

import os
from pathlib import Path

import pytest

from torchless.text.paths import canonical_path, one_spelling


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "csrc" / "include").mkdir(parents=True)
    (root / "csrc" / "include" / "a.h").write_bytes(b"a")
    (root / "csrc" / "b.h").write_bytes(b"b")
    (root / "inc").symlink_to("csrc/include")
    (root / "link.h").symlink_to("csrc/include/a.h")
    os.link(root / "csrc" / "b.h", root / "csrc" / "hard.h")
    return root


SPELLINGS = [
    "csrc/include/a.h",
    "inc/a.h",
    "link.h",
    "./csrc/../csrc/include/a.h",
    "inc/../include/a.h",
    "csrc//include/a.h",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_p02_every_spelling_has_one_canonical_path(tree: Path, spelling: str) -> None:
    assert canonical_path(tree, spelling) == "csrc/include/a.h"
    assert canonical_path(tree, tree / spelling) == "csrc/include/a.h"


def test_p02_the_root_itself_may_be_a_link_or_relative(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tree.parent / "checkout"
    link.symlink_to(tree)
    assert canonical_path(link, "inc/a.h") == "csrc/include/a.h"
    assert canonical_path(link, tree / "inc" / "a.h") == "csrc/include/a.h"
    monkeypatch.chdir(tree.parent)
    assert canonical_path(Path("root"), "inc/a.h") == "csrc/include/a.h"
    assert canonical_path(Path("root"), tree / "inc" / "a.h") == "csrc/include/a.h"


def test_p02_a_farm_of_links_keeps_its_own_names(tree: Path) -> None:
    store = tree.parent / "store"
    store.mkdir()
    (store / "x.h").write_bytes(b"x")
    (tree / "x.h").symlink_to(store / "x.h")
    (tree / "ext").symlink_to(store)
    assert canonical_path(tree, "x.h") == "x.h"
    assert canonical_path(tree, "ext/x.h") == "ext/x.h"
    assert canonical_path(tree, "ext/../root/csrc/b.h") == "csrc/b.h"
    assert canonical_path(tree, "ext/../store/x.h") == (store / "x.h").as_posix()
    assert canonical_path(tree, "../store/x.h") == (store / "x.h").as_posix()


def test_p02_missing_files_and_loops_have_names_too(tree: Path) -> None:
    (tree / "loop").symlink_to("loop")
    assert canonical_path(tree, "inc/none.h") == "csrc/include/none.h"
    assert canonical_path(tree, "loop") == "loop"


@pytest.mark.parametrize("order", [1, -1])
def test_p02_spellings_are_joined_by_inode(tree: Path, order: int) -> None:
    chosen = one_spelling(tree, [*SPELLINGS, "csrc/hard.h", "csrc/b.h", "none.h"][::order])
    assert {chosen[s] for s in SPELLINGS} == {"csrc/include/a.h"}
    assert chosen["csrc/hard.h"] == chosen["csrc/b.h"] == "csrc/b.h"
    assert chosen["none.h"] == "none.h"


def test_p02_a_lone_spelling_is_kept_as_the_user_gave_it(tree: Path) -> None:
    assert one_spelling(tree, ["inc/a.h", "csrc/hard.h"]) == {"inc/a.h": "inc/a.h", "csrc/hard.h": "csrc/hard.h"}
    assert one_spelling(tree, ["link.h", "inc/a.h"]) == {"inc/a.h": "inc/a.h", "link.h": "inc/a.h"}

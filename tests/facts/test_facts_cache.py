"""The cache in two phases: what each key covers, and that nothing but the very entry answers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from torchless.facts import codec, flags
from torchless.facts.cache import Cache
from torchless.facts.clang import parse
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.facts.pch import PchSet

SPEC = TuSpec("a.cu", ("first", "second"))


@pytest.fixture
def facts(tmp_path: Path, pch: PchSet) -> TuFacts:
    """A parsed unit that includes second/h.h, which includes a header that is not there."""
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "a.cu").write_text(
        '#include <torch/all.h>\n#include "h.h"\nlong f(at::Tensor x) { return g(x); }\nbad;\n'
    )
    (tmp_path / "second/h.h").write_text('#include "gone.h"\ninline long g(at::Tensor x) { return x.size(0); }\n')
    return parse(SPEC, root=tmp_path, pch=pch)


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[..., Cache]:
    """A new Cache object over the same folder: what was on disk before is looked at again."""
    return lambda **settings: Cache(tmp_path, tmp_path / "cache", **settings)


def test_stored_facts_come_back(facts: TuFacts, fresh: Callable[..., Cache]) -> None:
    assert fresh().facts(SPEC) is None
    key = fresh().store_facts(facts)
    found = fresh().facts(SPEC)
    assert found is not None
    assert found[0] == key
    assert found[1] == replace(facts, seconds=0.0)


@pytest.mark.parametrize("path", ["a.cu", "second/h.h"])
def test_any_opened_file_counts(facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path, path: str) -> None:
    key = fresh().store_facts(facts)
    before = (tmp_path / path).read_bytes()
    times = (tmp_path / path).stat()
    (tmp_path / path).write_bytes(before.replace(b"x", b"y"))
    os.utime(tmp_path / path, ns=(times.st_atime_ns, times.st_mtime_ns))  # content counts, not time
    assert fresh().facts(SPEC) is None
    (tmp_path / path).write_bytes(before)
    found = fresh().facts(SPEC)
    assert found is not None and found[0] == key
    (tmp_path / path).unlink()
    assert fresh().facts(SPEC) is None


@pytest.mark.parametrize("path", ["first/h.h", "h.h", "first/gone.h", "second/gone.h"])
def test_a_header_that_turns_up_counts(facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path, path: str) -> None:
    """One that would be found first, and one that was missing."""
    fresh().store_facts(facts)
    (tmp_path / path).write_text("")
    assert fresh().facts(SPEC) is None
    (tmp_path / path).unlink()
    assert fresh().facts(SPEC) is not None


@pytest.mark.parametrize("path", ["second/h.h", "second"])
def test_a_link_is_not_the_file(facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path, path: str) -> None:
    """Facts name a file by its real place: the same bytes behind a link, in another checkout, are another file."""
    fresh().store_facts(facts)
    other = Path(shutil.copytree(tmp_path, tmp_path / "other", ignore=shutil.ignore_patterns("cache", "other")))
    (other / path).rename(other / "moved")
    (other / path).symlink_to("../moved" if "/" in path else "moved")
    cache = Cache(other, tmp_path / "cache")
    assert cache.facts(SPEC) is None
    linked = parse(SPEC, root=other)
    assert {Path(file.path).parts[0] for file in linked.files} == {"a.cu", "moved"}
    cache.store_facts(linked)
    found = Cache(other, tmp_path / "cache").facts(SPEC)
    assert found is not None and found[1].files == linked.files
    (other / path).unlink()
    (other / "second").mkdir(exist_ok=True)
    (other / "second/h.h").write_text("inline long g(at::Tensor x) { return 0; }\n")
    assert Cache(other, tmp_path / "cache").facts(SPEC) is None


def test_overlays_are_content(facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path) -> None:
    fresh().store_facts(facts)
    same = (tmp_path / "a.cu").read_bytes()
    assert fresh(overlays={"a.cu": same}).facts(SPEC) is not None
    assert fresh(overlays={"a.cu": same + b"//"}).facts(SPEC) is None
    assert fresh(overlays={"first/h.h": b""}).facts(SPEC) is None


@pytest.mark.parametrize(
    "other",
    [
        {"source": "b.cu"},
        {"include_dirs": ("second",)},
        {"defines": ("A=1",)},
        {"enable_ck": True},
        {"device": True},
        {"arch": "gfx950"},
    ],
)
def test_the_command_line_counts(facts: TuFacts, fresh: Callable[..., Cache], other: dict[str, object]) -> None:
    key = fresh().store_facts(facts)
    changed = replace(SPEC, **other)  # type: ignore[arg-type]
    assert fresh().facts(changed) is None
    assert fresh().base_key(changed, fresh().dependencies(facts)) != key


def test_the_tools_count(facts: TuFacts, fresh: Callable[..., Cache], monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {fresh().store_facts(facts)}
    for name in ("toolchain", "stubs_digest"):
        monkeypatch.setattr(flags, name, lambda name=name: f"other {name}")
        assert fresh().facts(SPEC) is None
        keys.add(fresh().store_facts(facts))
    monkeypatch.setattr("torchless.__version__", "9.9.9")
    assert fresh().facts(SPEC) is None
    keys.add(fresh().store_facts(facts))
    assert fresh(headers="system").facts(SPEC) is None
    assert len(keys) == 4


def test_options_change_the_full_key_and_not_the_base_key(facts: TuFacts, fresh: Callable[..., Cache]) -> None:
    base = fresh().store_facts(facts)
    full = fresh().full_key([base], "rules 1", [("unsafe", False), ("select", ("TL2",))])
    assert full == fresh().full_key([base], "rules 1", [("select", ("TL2",)), ("unsafe", False)])
    others = {
        fresh().full_key([base], "rules 1", [("unsafe", True), ("select", ("TL2",))]),
        fresh().full_key([base], "rules 1", [("unsafe", False), ("select", ("TL3",))]),
        fresh().full_key([base], "rules 1", [("unsafe", False)]),
        fresh().full_key([base], "rules 2", [("unsafe", False), ("select", ("TL2",))]),
        fresh().full_key(["0" * 64], "rules 1", [("unsafe", False), ("select", ("TL2",))]),
        fresh().full_key([base, base], "rules 1", [("unsafe", False), ("select", ("TL2",))]),
    }
    assert len(others) == 6 and full not in others
    found = fresh().facts(SPEC)
    assert found is not None and found[0] == base


def test_findings(fresh: Callable[..., Cache]) -> None:
    cache = fresh()
    full = cache.full_key(["a"], "rules", [])
    assert cache.findings(full) is None
    cache.store_findings(full, b"findings")
    assert fresh().findings(full) == b"findings"
    assert fresh().findings(cache.full_key(["a"], "rules", [("unsafe", True)])) is None


def test_unexpected_entries_are_misses(facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path) -> None:
    """Torn, altered, foreign or misplaced: an entry answers only when it is whole and was written for this key."""
    key = fresh().store_facts(facts)
    entry = tmp_path / "cache" / "facts" / key[:2] / key
    whole = entry.read_bytes()
    other = Cache(tmp_path, tmp_path / "cache")
    other.store_findings("ab" * 32, whole)
    misplaced = (tmp_path / "cache" / "findings" / "ab" / ("ab" * 32)).read_bytes()
    for bad in (
        b"",
        whole[:10],
        whole[:-1],
        whole + b"x",
        whole[:60] + bytes([whole[60] ^ 1]) + whole[61:],
        b"torchless-cache-0\n" + whole[18:],
        misplaced,
        b"\x80\x05K\x01.",
    ):
        entry.write_bytes(bad)
        assert fresh().facts(SPEC) is None, bad[:30]
    entry.write_bytes(whole)
    assert fresh().facts(SPEC) is not None


def test_an_entry_under_another_name_is_a_miss(facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path) -> None:
    cache = fresh()
    cache.store_findings("cd" * 32, b"one")
    there = tmp_path / "cache/findings/cd" / ("cd" * 32)
    moved = tmp_path / "cache/findings/ef" / ("ef" * 32)
    moved.parent.mkdir(parents=True)
    moved.write_bytes(there.read_bytes())
    assert cache.findings("ef" * 32) is None


def test_well_sealed_nonsense_is_a_miss(facts: TuFacts, fresh: Callable[..., Cache]) -> None:
    key = fresh().store_facts(facts)
    for body in (b"", b"{}", b'{"format":1}', codec.encode(replace(facts, spec=replace(SPEC, arch="gfx950")))):
        fresh()._write("facts", key, body)
        assert fresh().facts(SPEC) is None
    fresh()._write("manifest", fresh()._line_key(SPEC), b'[["not", "a manifest"]]')
    assert fresh().facts(SPEC) is None


def test_failures_are_not_remembered(facts: TuFacts, fresh: Callable[..., Cache]) -> None:
    fresh().store_facts(TuFacts(SPEC, failure="a.cu: the parser crashed"))
    assert fresh().facts(SPEC) is None


def test_several_versions_of_a_unit_are_kept(
    facts: TuFacts, fresh: Callable[..., Cache], tmp_path: Path, pch: PchSet
) -> None:
    """Going back and forth between branches answers from the cache."""
    one = (tmp_path / "a.cu").read_text()
    fresh().store_facts(facts)
    (tmp_path / "a.cu").write_text("int other;\n")
    fresh().store_facts(parse(SPEC, root=tmp_path, pch=pch))
    (tmp_path / "a.cu").write_text(one)
    found = fresh().facts(SPEC)
    assert found is not None and found[1].files == facts.files


def test_a_folder_that_cannot_be_written_is_no_failure(facts: TuFacts, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path, tmp_path / "file")
    cache.store_facts(facts)
    assert cache.facts(SPEC) is None


def test_pruning_drops_the_oldest(fresh: Callable[..., Cache], monkeypatch: pytest.MonkeyPatch) -> None:
    cache = fresh()
    keys = [f"{i:064x}" for i in range(10)]
    for age, key in enumerate(keys):
        cache.store_findings(key, b"x" * 1000)
        os.utime(cache._entry("findings", key), (age, age))
    cache.prune(max_bytes=1 << 20)
    assert all(cache.findings(key) for key in keys)
    cache.prune(max_bytes=8000)
    assert [cache.findings(key) is not None for key in keys] == [False] * 5 + [True] * 5
    monkeypatch.setattr(Cache.prune, "__defaults__", (4000,))
    fresh().store_findings("f" * 64, b"x")  # the first write of a run does it by itself
    assert [cache.findings(key) is not None for key in keys] == [False] * 8 + [True] * 2


def test_what_others_keep_is_left_alone(fresh: Callable[..., Cache]) -> None:
    """The launch trace has its own limit, and folders of links, beside the entries."""
    cache = fresh()
    others = [cache.folder / "trace/objects/0011", cache.folder / "trace/links/22/pybind11"]
    for path in others:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 100)
    cache.store_findings("a" * 64, b"x")
    cache.prune(max_bytes=0)
    assert cache.findings("a" * 64) is None
    assert all(path.exists() for path in others)


def test_the_codec_is_exact(facts: TuFacts) -> None:
    odd = Diagnostic("\udcff.h", 1, 2, 3, 4, "quote ' \" \n \u4e2d")
    for value in (facts, replace(facts, diagnostics=(odd,)), TuFacts(SPEC)):
        assert codec.decode(codec.encode(value)) == replace(value, seconds=0.0)
        assert codec.encode(value) == codec.encode(replace(value, seconds=9.0))
    for bad in (b"", b"x", codec.encode(facts)[:-3]):
        with pytest.raises(codec.CodecError):
            codec.decode(bad)

"""A project read with an index is the project read without one, whatever happened to the files in between."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchless.index import Index
from torchless.project.bindings import binding_macros, binding_tus
from torchless.project.discover import ProjectError, load, locate
from torchless.project.model import Project
from torchless.project.ops import ops_of, parse_python
from torchless.text.source import SourceFile

WriteTree = Callable[[Mapping[str, "str | bytes"]], Path]
CONFIG = "aiter/jit/optCompilerConfig.json"


def indexed(root: Path, cache: Path) -> Project:
    index = Index(locate(root), cache)
    project = load(root, (), index)
    index.save()
    return project


def test_the_bundled_example(mini_aiter: Path, tmp_path: Path) -> None:
    plain = load(mini_aiter)
    assert len(plain.ops) == 4 and len(plain.binding_tus) == 2 and plain.modules and plain.target_names
    assert indexed(mini_aiter, tmp_path / "cache") == plain == indexed(mini_aiter, tmp_path / "cache")


def test_what_is_stored_is_what_the_readers_of_one_file_say(mini_aiter: Path, tmp_path: Path) -> None:
    indexed(mini_aiter, tmp_path / "cache")
    project = indexed(mini_aiter, tmp_path / "cache")
    for path in {op.path for op in project.ops}:
        ops, _ = ops_of(parse_python(path, (mini_aiter / path).read_bytes()))
        assert [op for op in project.ops if op.path == path] == ops
    for path in {macro.path for macro in project.binding_macros}:
        macros = binding_macros(SourceFile(path, (mini_aiter / path).read_bytes()))
        assert [macro for macro in project.binding_macros if macro.path == path] == macros
    for path in {tu.path for tu in project.binding_tus}:
        tus = binding_tus(SourceFile(path, (mini_aiter / path).read_bytes()))
        assert [tu for tu in project.binding_tus if tu.path == path] == tus


def test_nothing_is_read_twice(
    mini_aiter: Path, tmp_path: Path, quick_clock: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (mini_aiter / ".gitignore").write_text("*.tmp\n")
    quick_clock()
    plain = indexed(mini_aiter, tmp_path / "cache")

    def unexpected(*_: object) -> bytes:
        raise AssertionError("was read")

    monkeypatch.setattr(Index, "_read", unexpected)
    monkeypatch.setattr("pathspec.PathSpec.from_lines", unexpected)
    assert indexed(mini_aiter, tmp_path / "cache") == plain


@pytest.mark.corpus
def test_the_wheel(corpus: Path, tmp_path: Path) -> None:
    plain = load(corpus)
    assert len(plain.ops) > 100 and len(plain.binding_macros) > 50
    assert indexed(corpus, tmp_path / "cache") == plain == indexed(corpus, tmp_path / "cache")


def edit(rng: random.Random, root: Path) -> None:
    """One of the things that people do to a checkout."""
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in (".cu", ".h", ".hpp", ".py", ".json"))
    path = rng.choice(files)
    data = path.read_bytes()
    match rng.randrange(8):
        case 0:
            path.write_bytes(data.replace(b'm.def("', b'm.def("new_', 1))
        case 1:
            path.write_bytes(b"\n" + data)
        case 2:
            path.write_bytes(data[: rng.randrange(len(data) + 1)])
        case 3:
            path.unlink()
        case 4:
            path.rename(path.with_name(f"moved_{rng.randrange(9)}{path.suffix}"))
        case 5:
            (path.parent / f"added_{rng.randrange(9)}{path.suffix}").write_bytes(data)
        case 6:
            lines = rng.sample(["*norm*", "added_*", "/csrc/include/", "!norm.h", "*.py", "!", "\\", "/"], 3)
            (root / ".gitignore").write_text("\n".join(lines))
        case 7:
            link = path.parent / f"link_{rng.randrange(3)}{path.suffix}"
            link.unlink(missing_ok=True)
            link.symlink_to(rng.choice(files))


@pytest.mark.parametrize("seed", range(5))
def test_random_edits(seed: int, mini_aiter: Path, tmp_path: Path, quick_clock: Callable[[], None]) -> None:
    rng = random.Random(seed)
    kept = tmp_path / "kept.json"
    shutil.copy(mini_aiter / CONFIG, kept)
    for _ in range(25):
        for _ in range(rng.randrange(1, 4)):
            edit(rng, mini_aiter)
        if rng.random() < 0.3:
            quick_clock()
        if not (mini_aiter / CONFIG).exists():  # without it, this is no checkout
            shutil.copy(kept, mini_aiter / CONFIG)
        assert indexed(mini_aiter, tmp_path / "cache") == load(mini_aiter)


def test_gitignore_changes_and_lines_that_are_no_pattern(write_tree: WriteTree, tmp_path: Path) -> None:
    files = {f"csrc/{name}.cu": "" for name in "abc"}
    root = write_tree({CONFIG: "{}", **files})
    for text, left in (
        (b"", "abc"),
        (b"a.cu\r\n", "bc"),
        (b"\xef\xbb\xbfa.cu\n", "bc"),
        (b"!\n\\\n/\nb.cu\n", "ac"),
        (b"*.cu\n!c.cu\n", "c"),
        (b"csrc/\n", ""),
        (b"\xff\xfe\n", "abc"),
    ):
        (root / ".gitignore").write_bytes(text)
        expected = tuple(f"csrc/{name}.cu" for name in left)
        assert indexed(root, tmp_path / "cache").sources == load(root).sources == expected, text
    (root / ".gitignore").unlink()
    assert indexed(root, tmp_path / "cache").sources == load(root).sources


def test_only_the_index_of_the_root_is_taken(mini_aiter: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        load(mini_aiter, (), Index(mini_aiter / "csrc"))
    (tmp_path / "way").symlink_to(mini_aiter)
    assert load(mini_aiter, (), Index(tmp_path / "way")) == load(mini_aiter)
    assert locate(mini_aiter / "csrc", ["kernels"]) == locate(Path("/"), [mini_aiter / "aiter"]) == mini_aiter
    with pytest.raises(ProjectError):
        locate(mini_aiter, ["absent"])


def test_names_that_are_not_utf8(write_tree: WriteTree) -> None:
    macro = b'#define caf\xe9_PYBIND m.def("f", &caf\xe9)\n'
    block = b"PYBIND11_MODULE(x, \xe9) { caf\xe9; caf\xe9_PYBIND; }\n"
    root = write_tree({CONFIG: "{}", "csrc/a.cu": macro + block})
    project = load(root)
    assert [row.name for macro in project.binding_macros for row in macro.rows] == ["f"]
    assert [tu.macros for tu in project.binding_tus] == [tuple(macro.name for macro in project.binding_macros)]


def test_a_configuration_that_is_nested_too_deeply(write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_tree({CONFIG: '{"module_a": {"srcs": ' + "[" * 3000 + "]" * 3000 + "}}"})
    limit = sys.getrecursionlimit()
    try:
        for depth in (limit, 20_000):  # some interpreters read what they then cannot store
            sys.setrecursionlimit(depth)
            project = load(root)
            assert project.modules == ()
            ((_, message),) = [p for p in project.problems if p[0] == CONFIG]
            assert message.startswith("cannot read the module configuration")
    finally:
        sys.setrecursionlimit(limit)


def test_an_entry_that_changes_its_files_only(write_tree: WriteTree, tmp_path: Path) -> None:
    """The configuration stays; what it names comes and goes."""
    entry = {"srcs": ["f'{AITER_CSRC_DIR}/k'", "f'{AITER_CSRC_DIR}/a.cu'"], "extra_include": ["f'{AITER_CSRC_DIR}/i'"]}
    root = write_tree({CONFIG: json.dumps({"module_a": entry}), "csrc/x.h": ""})

    def module() -> tuple[object, ...]:
        (found,) = indexed(root, tmp_path / "cache").modules
        assert (found,) == load(root).modules
        return found.sources, found.missing_sources, found.include_dirs

    assert module() == ((), ("csrc/k", "csrc/a.cu"), ())
    for path in ("csrc/k/b.cu", "csrc/a.cu", "csrc/i/i.h"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("")
    assert module() == (("csrc/k/b.cu", "csrc/a.cu"), (), ("csrc/i",))
    (root / "csrc/a.cu").unlink()
    (root / "csrc/k/c.cpp").write_text("")
    assert module() == (("csrc/k/b.cu", "csrc/k/c.cpp"), ("csrc/a.cu",), ("csrc/i",))


def test_a_checkout_that_turns_into_a_wheel(write_tree: WriteTree, tmp_path: Path) -> None:
    """The same configuration means other folders then."""
    entry = {"srcs": ["f'{AITER_CSRC_DIR}/a.cu'"]}
    root = write_tree({CONFIG: json.dumps({"module_a": entry}), "csrc/a.cu": ""})
    assert indexed(root, tmp_path / "cache").modules[0].sources == ("csrc/a.cu",)
    (root / "aiter_meta").mkdir()
    (root / "csrc").rename(root / "aiter_meta/csrc")
    assert indexed(root, tmp_path / "cache").modules[0].sources == ("aiter_meta/csrc/a.cu",)

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchless.project.discover import ProjectError, load, locate
from torchless.project.target import declared_names

WriteTree = Callable[[Mapping[str, "str | bytes"]], Path]
CONFIG = {"aiter/jit/optCompilerConfig.json": "{}"}
CORE = {"aiter/jit/core.py": "def compile_ops(name, develop=False): ...\n"}


def test_the_bundled_example(mini_aiter: Path) -> None:
    project = load(mini_aiter / "csrc", ["kernels"])
    assert Path(project.root) == mini_aiter and project.is_aiter and project.problems == ()
    assert [m.name for m in project.modules] == ["module_scale", "module_norm"]
    assert len(project.ops) == 4 and {op.module for op in project.ops} == {"module_scale", "module_norm"}
    assert {m.name for m in project.binding_macros} == {"AITER_SET_STREAM_PYBIND", "NORM_PYBIND", "SCALE_PYBIND"}
    assert [tu.macros for tu in project.binding_tus] == [("NORM_PYBIND",), ("SCALE_PYBIND",)]
    assert "csrc/include/rocm_ops.hpp" in project.headers and len(project.sources) == 4
    assert {"aiter_tensor.h", "aiter_stream.h", "rocm_ops.hpp"} <= project.target_headers
    assert {"AITER_CHECK", "aiter_tensor_t", "AITER_SET_STREAM_PYBIND", "getCurrentHIPStream"} <= project.target_names
    assert "develop" in project.op_parameters and project.csrc == "csrc" and project.ck_dir == ""


def test_the_answer_does_not_depend_on_the_paths(mini_aiter: Path) -> None:
    whole = load(mini_aiter)
    assert load(Path("/"), [mini_aiter / "csrc/kernels/norm_kernels.cu", mini_aiter / "aiter"]) == whole
    assert load(mini_aiter / "aiter" / "ops", ["../../csrc/include/norm.h"]) == whole


def test_vendored_built_hidden_and_ignored_folders_are_not_entered(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            **CONFIG,
            **CORE,
            ".gitignore": "/csrc/gen/\n*.tmp.cu\n",
            "csrc/a.cu": "",
            "csrc/sub/b.cuh": "",
            "csrc/a.tmp.cu": "",
            **{f"csrc/{d}/x.cu": "" for d in ("gen", "3rdparty", "build", "blob", ".git", ".venv", "e.egg-info")},
            "gradlib/g.cu": "",
            "3rdparty/composable_kernel/x.cu": "",
            "other/o.cu": "",
            "aiter/build/p.py": '@compile_ops("m")\ndef f(): ...\n',
        }
    )
    project = load(root)
    assert project.sources == ("csrc/a.cu", "gradlib/g.cu")
    assert project.headers == ("csrc/sub/b.cuh",)
    assert project.ops == ()
    assert load(root, ["other", "csrc/sub"]).sources == ("csrc/a.cu", "gradlib/g.cu", "other/o.cu")
    vendored = load(root, ["3rdparty"])
    assert vendored.sources == project.sources
    assert vendored.problems == (("3rdparty", "lies in a vendored folder, which is never edited"),)


def test_links_give_each_file_one_name_and_no_loop(
    write_tree: WriteTree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "o.cu"
    outside.write_text("")
    root = write_tree({**CONFIG, **CORE, "csrc/a.cu": "", "csrc/text.in": "", "csrc/sub/b.cu": "", "lib/c.cu": ""})
    for link, target in {
        "csrc/sub/up": root / "csrc",
        "csrc/alias.cu": root / "csrc/a.cu",
        "csrc/from_text.cu": root / "csrc/text.in",
        "csrc/c_link.cu": root / "lib/c.cu",
        "csrc/outside.cu": outside,
        "csrc/self.cu": root / "csrc/self.cu",
        "csrc/broken.cu": root / "nowhere.cu",
        "csrc/linked": root / "lib",
    }.items():
        (root / link).symlink_to(target)
    assert load(root).sources == ("csrc/a.cu", "csrc/from_text.cu", "csrc/sub/b.cu", "lib/c.cu")
    (root.parent / f"{root.name}-link").symlink_to(root)
    assert load(root.parent / f"{root.name}-link" / "csrc").root == str(root.resolve())


def test_hard_links_give_each_file_one_name(write_tree: WriteTree) -> None:
    config = {"aiter/jit/optCompilerConfig.json": '{"m": {"srcs": ["f\'{AITER_CSRC_DIR}/z.cu\'"]}}'}
    root = write_tree({**config, **CORE, "csrc/b.cu": "", "csrc/c.h": "", "csrc/d.h": "", "lib/e.cu": ""})
    assert load(root).further_names == ()
    for name, twin in {
        "csrc/z.cu": "csrc/b.cu",
        "csrc/a.h": "csrc/c.h",
        "csrc/a_source.h": "csrc/b.cu",  # a source stays one
        "csrc/e_twin.cu": "lib/e.cu",
        "csrc/build/f.h": "csrc/d.h",  # a folder that is not entered
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        os.link(root / twin, root / name)
    project = load(root)
    assert (project.sources, project.headers) == (("csrc/b.cu", "csrc/e_twin.cu"), ("csrc/a.h", "csrc/d.h"))
    assert dict(project.further_names) == {
        "csrc/z.cu": "csrc/b.cu",
        "csrc/a_source.h": "csrc/b.cu",
        "csrc/c.h": "csrc/a.h",
    }
    assert project.modules[0].sources == ("csrc/b.cu",)
    assert dict(load(root, ["csrc", "lib/e.cu"]).further_names)["lib/e.cu"] == "csrc/e_twin.cu"


@pytest.mark.parametrize("git", [True, False])
def test_a_header_of_a_plain_folder_brings_the_sources_that_include_it(write_tree: WriteTree, git: bool) -> None:
    root = write_tree(
        {
            "lib/h.h": "",
            "lib/own.cu": "",
            "src/a.cu": "#include <lib/h.h>\n",
            "src/b.cu": '#include "c.h"\n',
            "src/c.h": '#include "../lib/h.h"\n',
            "src/d.cu": '// #include "h.h"\n',
            "build/e.cu": '#include "h.h"\n',
            "3rdparty/f.cu": '#include "h.h"\n',
        }
    )
    if git:
        (root / ".git").mkdir()
    project = load(root if not git else root / "lib", [root / "lib/h.h"])
    assert Path(project.root) == root
    assert (project.sources, project.headers) == (("lib/own.cu", "src/a.cu", "src/b.cu"), ("lib/h.h", "src/c.h"))
    assert locate(root if not git else root / "lib", [root / "lib/h.h"]) == root
    folder = load(root, ["lib"])
    assert [Path(folder.root, path) for path in (*folder.sources, *folder.headers)] == [
        root / "lib/own.cu",
        root / "lib/h.h",
    ]


def test_a_header_below_the_home_folder_or_outside_of_the_current_one_is_read_alone(
    write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree({"lib/h.h": "", "other/a.cu": '#include "h.h"\n'})
    assert load(root / "other", [root / "lib/h.h"]).sources == ()
    monkeypatch.setenv("HOME", str(root))
    assert load(root, ["lib/h.h"]).sources == ()


def test_wheel_layout(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "aiter/jit/optCompilerConfig.json": '{"m": {"srcs": ["f\'{AITER_CSRC_DIR}/k.cu\'"]}}',
            "aiter/jit/core.py": "def compile_ops(_md_name, fc_name=None): ...\n",
            "aiter_meta/csrc/k.cu": "",
            "aiter_meta/csrc/include/h.h": "",
            "aiter_meta/3rdparty/composable_kernel/include/ck_tile/core.hpp": "",
        }
    )
    project = load(root / "aiter_meta" / "csrc")
    assert project.root == str(root)
    assert project.modules[0].sources == ("aiter_meta/csrc/k.cu",)
    assert project.modules[0].include_dirs == ("aiter_meta/csrc/include",)
    assert (project.csrc, project.ck_dir) == ("aiter_meta/csrc", "aiter_meta/3rdparty/composable_kernel")
    assert project.target_headers == frozenset()
    assert project.problems == (
        ("aiter/jit/core.py", "compile_ops takes no develop flag, so migrated ops could not be called"),
    )


def test_plain_folder(write_tree: WriteTree) -> None:
    root = write_tree({"one/a.cu": "", "one/a.h": "", "two/b.cpp": "", "three/c.cu": "", "two/notes.md": ""})
    project = load(root, ["one/a.cu", "two"])
    assert (project.root, project.is_aiter, project.modules, project.csrc) == (str(root), False, (), "")
    assert (project.sources, project.headers) == (("one/a.cu", "two/b.cpp"), ("one/a.h",))
    assert load(root / "one").sources == ("a.cu",)
    (root / ".git").mkdir()
    assert load(root / "one").sources == ("one/a.cu",)


def test_paths_that_are_no_checkout(write_tree: WriteTree, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = write_tree({**CONFIG, **CORE, "csrc/a.cu": ""})
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with pytest.raises(ProjectError, match="No such file") as missing:
        load(root, ["csrc/absent.cu"])
    assert "\n" not in str(missing.value)
    with pytest.raises(ProjectError, match="lies outside of"):
        load(root, ["csrc", elsewhere])
    with pytest.raises(ProjectError):
        load(root, ["csrc/\0"])


def test_unreadable_folder_is_a_problem(write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_tree({**CONFIG, **CORE, "csrc/shut/a.cu": "", "csrc/b.cu": ""})
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    project = load(root)
    assert project.sources == ("csrc/b.cu",)
    assert project.problems == (("csrc/shut", "cannot list: Permission denied"),)


def test_declared_names() -> None:
    text = b"""
#define A_MACRO(x) hidden_call(x)
// struct in_comment {};
namespace n { inline namespace v {
struct S : Base<int> { int field; void method() const { call_in_body(); } S(int) : field(0) {} };
enum Plain { E1, E2 = 2, };
enum class Scoped : int { F1 };
template <typename T, int N = f(1)> __device__ inline T load(const T* p) { return other_call(p); }
using Alias = std::vector<int>;
template <> struct Special<int> { static constexpr bool ok() { return true; } };
extern "C" { void c_function(int); }
int value = initial(3);
}}
"""
    names = declared_names(text)
    assert {"A_MACRO", "S", "method", "Plain", "E1", "E2", "Scoped", "F1", "Alias", "ok", "c_function"} <= names
    assert not names & {"hidden_call", "in_comment", "call_in_body", "other_call", "initial", "int"}
    assert declared_names(b"struct {") == declared_names(b"}}}") == declared_names(b"") == set()

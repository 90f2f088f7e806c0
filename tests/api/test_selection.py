"""What the paths and modules on a command line mean."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from torchless.project.discover import load
from torchless.selection import Selection, SelectionError, select

NORM, SCALE = "csrc/kernels/norm_kernels.cu", "csrc/kernels/scale_kernels.cu"
BINDINGS = {"csrc/pybind/norm_pybind.cu", "csrc/pybind/scale_pybind.cu"}


def chosen(
    root: Path, *paths: str, modules: Sequence[str] = (), exclude: Sequence[str] = (), force_exclude: bool = False
) -> Selection:
    return select(load(root, paths), root, paths, modules, exclude, force_exclude)


def test_a_source_selects_itself(mini_aiter: Path) -> None:
    found = chosen(mini_aiter, NORM)
    assert (found.sources, found.headers, found.modules, found.notes) == ({NORM}, frozenset(), frozenset(), ())
    assert chosen(mini_aiter / "csrc", "kernels/norm_kernels.cu").sources == {NORM}
    assert chosen(mini_aiter, str(mini_aiter / NORM), f"./csrc/../{NORM}").sources == {NORM}


def test_a_source_that_binds_one_module_selects_it(mini_aiter: Path) -> None:
    binding = "csrc/pybind/scale_pybind.cu"
    found = chosen(mini_aiter, binding)
    assert (found.sources, found.modules, found.notes) == ({binding}, {"module_scale"}, ())
    config = mini_aiter / "aiter" / "jit" / "optCompilerConfig.json"
    modules = json.loads(config.read_text())
    config.write_text(json.dumps({**modules, "module_other": modules["module_scale"]}))
    shared = chosen(mini_aiter, binding)
    assert shared.modules == frozenset()
    assert "selects only those that it defines" in shared.notes[0]


def test_a_folder_selects_its_sources_and_covers_its_headers(mini_aiter: Path) -> None:
    found = chosen(mini_aiter, "csrc/kernels/", "csrc/include")
    assert (found.sources, found.headers) == ({NORM, SCALE}, frozenset())
    assert found.covers(NORM) and found.covers("csrc/include/norm.h") and not found.covers("csrc/pybind/x.cu")
    assert not found.covers("csrc/kernels2/x.cu")
    everything = chosen(mini_aiter, ".")
    assert everything.sources == {NORM, SCALE, *BINDINGS}
    assert everything.covers("csrc/include/norm.h") and everything.covers("anything.h")


def test_a_header_selects_what_it_declares_and_a_registration_header_nothing(mini_aiter: Path) -> None:
    found = chosen(mini_aiter, "csrc/include/scale.h", "csrc/include/rocm_ops.hpp")
    assert (found.sources, found.headers) == (frozenset(), {"csrc/include/scale.h"})
    assert found.notes == ("csrc/include/rocm_ops.hpp only registers bindings, so it selects no unit",)


def test_p02_a_hard_link_selects_its_file_by_either_name(mini_aiter: Path) -> None:
    for folder, twin in {"twins": NORM, "heads": "csrc/include/norm.h"}.items():
        (mini_aiter / "csrc" / folder).mkdir()
        os.link(mini_aiter / twin, mini_aiter / "csrc" / folder / f"a{Path(twin).suffix}")
    assert chosen(mini_aiter, "csrc/twins/a.cu") == chosen(mini_aiter, NORM)
    assert chosen(mini_aiter, NORM).sources == {NORM}
    assert chosen(mini_aiter, "csrc/twins").sources == {NORM}
    assert chosen(mini_aiter, "csrc/twins", exclude=["csrc/twins/*"]).sources == frozenset()
    header = "csrc/heads/a.h"
    assert chosen(mini_aiter, header).headers == chosen(mini_aiter, "csrc/include/norm.h").headers == {header}
    assert chosen(mini_aiter, "csrc/include").covers(header) and chosen(mini_aiter, "csrc/heads").covers(header)
    assert not chosen(mini_aiter, "csrc/kernels").covers(header)


def test_a_module(mini_aiter: Path) -> None:
    found = chosen(mini_aiter, modules=["module_norm"])
    assert (found.sources, found.modules) == (frozenset(), {"module_norm"})
    with pytest.raises(SelectionError, match=r"no module named norm in .*; did you mean module_norm\?"):
        chosen(mini_aiter, modules=["norm"])
    with pytest.raises(SelectionError, match=r"no module named zzz in [^;]*$"):
        chosen(mini_aiter, modules=["module_norm", "zzz"])


def test_excludes_hold_for_folders_and_for_files_only_when_forced(mini_aiter: Path) -> None:
    pattern = ["norm_*.cu"]
    assert chosen(mini_aiter, "csrc", exclude=pattern).sources == {SCALE, "csrc/pybind/scale_pybind.cu"}
    assert chosen(mini_aiter, NORM, SCALE, exclude=pattern).sources == {NORM, SCALE}
    assert chosen(mini_aiter, NORM, SCALE, exclude=pattern, force_exclude=True).sources == {SCALE}
    assert chosen(mini_aiter, "csrc/include/norm.h", exclude=["*.h"], force_exclude=True).headers == frozenset()
    folder = chosen(mini_aiter, "csrc", exclude=["csrc/*", "!csrc/pybind/"])
    assert folder.sources == BINDINGS


def test_a_link_selects_the_file_it_leads_to(mini_aiter: Path) -> None:
    (mini_aiter / "csrc" / "also_norm.cu").symlink_to("kernels/norm_kernels.cu")
    (mini_aiter / "kernels").symlink_to("csrc/kernels")
    assert chosen(mini_aiter, "csrc/also_norm.cu").sources == {NORM}
    assert chosen(mini_aiter, "kernels").sources == {NORM, SCALE}
    assert chosen(mini_aiter, "kernels").covers(NORM)
    outer = mini_aiter.parent / "linked"
    outer.symlink_to(mini_aiter)
    assert chosen(outer, NORM).sources == chosen(outer / "csrc", "kernels/norm_kernels.cu").sources == {NORM}


def test_what_is_no_part_of_the_project_is_said(mini_aiter: Path) -> None:
    (mini_aiter / ".gitignore").write_text("generated/\n")
    for folder in ("csrc/generated", "csrc/build", "csrc/3rdparty", "3rdparty"):
        (mini_aiter / folder).mkdir()
        (mini_aiter / folder / "a.cu").write_text("torch::Tensor x;\n")
        found = chosen(mini_aiter, f"{folder}/a.cu")
        assert found.sources == frozenset()
        said = [note.partition(":")[0] for note in found.notes]
        # of the last one the project itself says that it is vendored
        assert said == ([] if folder == "3rdparty" else [f"{folder}/a.cu is left out"])


def make(root: Path, name: str, data: bytes) -> str:
    (root / name).write_bytes(data)
    return name


def test_what_cannot_be_selected_is_one_line(mini_aiter: Path) -> None:
    project = load(mini_aiter)
    outside = mini_aiter.parent / "outside.cu"
    outside.write_text("int x;\n")
    (mini_aiter / "out.cu").symlink_to(outside)
    (mini_aiter / "gone.cu").symlink_to("nowhere")
    cases = {
        "none.cu": "no such file or folder",
        "gone.cu": "a link that leads nowhere",
        "../outside.cu": "lies outside of the project",
        str(outside): "lies outside of the project",
        "out.cu": "lies outside of the project",
        "aiter/ops/norm.py": "not a C++ source or header",
        make(mini_aiter, "binary.cu", b"\x7fELF\0"): "it holds NUL bytes",
    }
    for path, problem in cases.items():
        with pytest.raises(SelectionError) as caught:
            select(project, mini_aiter, [path])
        assert str(caught.value).startswith(f"{path}: ") and problem in str(caught.value)
        assert "\n" not in str(caught.value)

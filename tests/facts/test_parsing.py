"""What a parse says about includes, opened files and errors, and how it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchless.facts import flags, libclang
from torchless.facts.clang import parse
from torchless.facts.model import TuSpec
from torchless.facts.pch import PchSet
from torchless.verify.types import torch_chains

Parse = Callable[..., Any]

TEMPLATES = """
template <typename T> struct Box { T value; long rows() const { return value.size(0); } };
template <typename T> void fill(Box<T>& box) { box.value.undeclared_member(); }
void use(at::Tensor x) { Box<at::Tensor> box{x}; box.rows(); fill(box); planted_error(x); }
"""


def test_includes_are_resolved(parsed: Parse) -> None:
    p = parsed(
        '#include <torch/all.h>\n#include "inc/one.h"\n'
        "#  include <two.h> // again\n#include <two.h>\n#include <vector>\n"
        "#if 0\n#include <inactive.h>\n#endif\n",
        {"inc/one.h": '#include "near.h"\n', "inc/near.h": "\n", "dir/two.h": "#pragma once\n"},
        spec=TuSpec("a.cu", ("dir",)),
    )
    found = [(i.path, p.text(i.offset, i.offset + 1, i.path), i.spelled, i.resolved) for i in p.facts.includes]
    vector = found.pop([f[2] for f in found].index("vector"))
    assert vector[3].endswith("/vector") and Path(vector[3]).is_absolute()
    assert found == [
        ("a.cu", "#", "torch/all.h", "<stubs>/torch/torch/all.h"),
        ("a.cu", "#", "inc/one.h", "inc/one.h"),
        ("a.cu", "#", "two.h", "dir/two.h"),
        ("a.cu", "#", "two.h", "dir/two.h"),
        ("inc/one.h", "#", "near.h", "inc/near.h"),
    ]
    mine = [path for path in p.facts.opened if not path.startswith(flags.STUB_PREFIX)]
    assert mine == ["a.cu", "dir/two.h", "inc/near.h", "inc/one.h"]
    assert any(path.startswith(flags.TORCH_PREFIX) for path in p.facts.opened)


def test_torch_is_opened_only_where_it_is_reached(parsed: Parse) -> None:
    """Although the precompiled header holds all of torch."""
    p = parsed("#include <hip/hip_runtime.h>\n")
    assert not [path for path in p.facts.opened if path.startswith(flags.TORCH_PREFIX)]
    p = parsed('#include "h.h"\n', {"h.h": "#include <c10/util/Half.h>\n"})
    assert "<stubs>/torch/c10/util/Half.h" in p.facts.opened


def test_a_missing_header_hides_nothing(tmp_path: Path, parsed: Parse) -> None:
    """Same facts and errors as with an empty header, errors inside instantiated templates included."""
    text = '#include "generated/manifest.h"\n#include <torch/all.h>\n' + TEMPLATES
    missing = parsed(text, allow_errors=True)
    empty = parsed(text, {"generated/manifest.h": ""}, allow_errors=True)
    assert [i.resolved for i in missing.facts.includes if "manifest" in i.spelled] == [""]
    assert [i.resolved for i in empty.facts.includes if "manifest" in i.spelled] == ["generated/manifest.h"]
    assert missing.facts.files == empty.facts.files
    assert missing.facts.diagnostics == empty.facts.diagnostics
    messages = " ".join(d.message for d in missing.facts.diagnostics)
    assert "undeclared_member" in messages and "planted_error" in messages


def test_diagnostics_say_where(parsed: Parse) -> None:
    p = parsed("#define BAD(x) missing_##x\nint f() {\n  return BAD(1) +\n    other;\n}\n", allow_errors=True)
    data = p.texts["a.cu"]
    found = {(d.path, d.offset, d.line, d.severity, d.message) for d in p.facts.diagnostics}
    assert found == {
        ("a.cu", data.index(b"BAD(1)"), 3, 3, "use of undeclared identifier 'missing_1'"),
        ("a.cu", data.index(b"other"), 4, 3, "use of undeclared identifier 'other'"),
    }


def test_warnings_are_not_reported(parsed: Parse) -> None:
    assert parsed("#warning careful\nint f() { int unused; }\n").facts.diagnostics == ()


def test_overlays_stand_in_for_files(tmp_path: Path, pch: PchSet) -> None:
    (tmp_path / "h.h").write_text("void on_disk();\n")
    (tmp_path / "a.cu").write_text('#include "h.h"\n')
    overlays = {
        "h.h": b"void in_memory();\n",
        "a.cu": b'#include "h.h"\n#include "new/only.h"\nvoid here() { in_memory(); only_in_memory(); }\n',
        "new/only.h": b"#pragma once\nvoid only_in_memory();\n",
    }
    facts = parse(TuSpec("a.cu"), root=tmp_path, overlays=overlays, pch=pch)
    assert facts.diagnostics == ()
    assert {(fn.path, fn.name) for f in facts.files for fn in f.functions} == {
        ("h.h", "in_memory"),
        ("a.cu", "here"),
        ("new/only.h", "only_in_memory"),
    }
    assert parse(TuSpec("b.cu"), root=tmp_path, overlays={"b.cu": b"int x;\n"}, pch=pch).failure == ""


def test_linked_files_have_one_name(tmp_path: Path, pch: PchSet) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "h.h").write_text(
        "#pragma once\n#include <torch/all.h>\ninline long g(at::Tensor t) { return t.size(0); }\n"
    )
    (tmp_path / "linked").symlink_to(real)
    (tmp_path / "a.cu").write_text('#include "linked/h.h"\n#include "real/../real/h.h"\n')
    facts = parse(TuSpec("a.cu"), root=tmp_path, pch=pch)
    assert [f.path for f in facts.files] == ["real/h.h"]
    assert {i.resolved for i in facts.includes if i.spelled.endswith("h.h")} == {"real/h.h"}
    elsewhere = tmp_path.parent / "to_root"
    elsewhere.symlink_to(tmp_path)
    assert parse(TuSpec("a.cu"), root=elsewhere, pch=pch).files == facts.files


def test_p02_hard_links_have_one_name_in_facts(tmp_path: Path, pch: PchSet) -> None:
    (tmp_path / "h.h").write_text("#pragma once\ninline int g() { return gone; }\n")
    os.link(tmp_path / "h.h", tmp_path / "k.h")
    (tmp_path / "a.cu").write_text('#include "k.h"\n#include "h.h"\nint f() { return g(); }\n')
    spec = TuSpec("a.cu", further_names=(("k.h", "h.h"),))
    facts = parse(spec, root=tmp_path, pch=pch)
    assert {f.path: [fn.name for fn in f.functions] for f in facts.files} == {"a.cu": ["f"], "h.h": ["g"]}
    assert {d.path for d in facts.diagnostics} == {i.resolved for i in facts.includes} == {"h.h"}
    assert facts.opened == ("a.cu", "h.h")
    edited = parse(spec, root=tmp_path, overlays={"h.h": b"#pragma once\ninline int g() { return 1; }\n"}, pch=pch)
    assert edited.diagnostics == ()


def test_vendored_headers_are_opened_but_have_no_facts(parsed: Parse) -> None:
    p = parsed('#include "3rdparty/v.h"\nvoid f() { v(); }\n', {"3rdparty/v.h": "inline void v() { }\n"})
    assert [f.path for f in p.facts.files] == ["a.cu"]
    assert "3rdparty/v.h" in p.facts.opened


def test_defines_and_ck(parsed: Parse) -> None:
    text = "#if ENABLE_CK\nvoid with_ck();\n#endif\n#if LIMIT == 3\nvoid limited();\n#endif\n"
    spec = TuSpec("a.cu", defines=("LIMIT=3",))
    names = [
        {fn.name for f in parsed(text, spec=replace(spec, enable_ck=ck)).facts.files for fn in f.functions}
        for ck in (False, True)
    ]
    assert names == [{"limited"}, {"limited", "with_ck"}]


def test_failures_are_told_not_raised(tmp_path: Path) -> None:
    facts = parse(TuSpec("missing.cu"), root=tmp_path)
    assert facts.failure == "missing.cu: no such file"
    assert facts.files == ()


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02", b"}}}}((((", b"\xff" * 100, b"#include", b'R"('])
def test_any_bytes_can_be_parsed(tmp_path: Path, pch: PchSet, data: bytes) -> None:
    (tmp_path / "a.cu").write_bytes(data)
    assert parse(TuSpec("a.cu"), root=tmp_path, pch=pch).failure == ""


def test_header_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(flags.HeadersError, match="unknown header set 'mine'"):
        flags.find_headers("mine")
    flags.find_headers.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(flags.HeadersError, match="torch"):
        flags.find_headers("system")


def test_a_wrong_library_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCHLESS_LIBCLANG", str(tmp_path / "nothing.so"))
    libclang.library.cache_clear()
    try:
        with pytest.raises(libclang.LibclangError, match="cannot load libclang"):
            libclang.library()
    finally:
        libclang.library.cache_clear()


def test_without_resource_headers_errors_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel's libclang has no headers of its own: were ours lost, that must not pass for a clean parse."""
    found = replace(flags.find_headers("stubs"), resource=str(tmp_path / "none"))
    monkeypatch.setattr(flags, "find_headers", lambda kind: found)
    (tmp_path / "a.cu").write_text("#include <torch/all.h>\n")
    facts = parse(TuSpec("a.cu"), root=tmp_path)
    assert any("'stddef.h' file not found" in d.message for d in facts.diagnostics)
    assert any("includes stddef.h, which is not on this machine" in note for note in facts.notes)


def test_an_installed_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --headers system torch's own headers are read; ours fill in for HIP where ROCm is not installed."""
    package = tmp_path / "site/torch"
    include = package / "include/torch"
    include.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (include / "all.h").write_text(
        "#pragma once\n#include <hip/hip_runtime.h>\n"
        "namespace at { class TensorBase { public: long size(long) const; }; class Tensor : public TensorBase { }; }\n"
        "namespace torch { using namespace at; }\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "no-rocm"))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.cu").write_text("#include <torch/all.h>\nlong f(torch::Tensor x) { return x.size(0); }\n")
    flags.find_headers.cache_clear()
    try:
        facts = parse(TuSpec("a.cu"), root=root, headers="system")
    finally:
        flags.find_headers.cache_clear()
    assert facts.diagnostics == ()
    header = str((include / "all.h").resolve())
    assert [i.resolved for i in facts.includes] == [header]
    assert header in facts.opened
    assert ("member", "at::Tensor::size", "tensor") in {(n.kind, n.name, n.type) for n in facts.files[0].names}
    assert torch_chains("a.cu", facts.includes) == (("a.cu", header),)


@pytest.mark.parametrize(("arch", "family"), [("gfx950", "__GFX9__"), ("gfx1250", "__GFX12__"), ("gfx942", "__GFX9__")])
@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
def test_architectures_younger_than_the_parser(tmp_path: Path, arch: str, family: str, device: bool) -> None:
    seen = f"defined(__{arch}__) && defined({family})"
    others = " || ".join(f"defined(__{a}__)" for a in ("gfx942", "gfx1201", "gfx950", "gfx1250") if a != arch)
    (tmp_path / "a.cu").write_text(
        f"#if {others}\n#error another\n#endif\n#if ({seen}) != {int(device)}\n#error macro\n#endif\n"
    )
    facts = parse(TuSpec("a.cu", arch=arch, device=device), root=tmp_path)
    assert (facts.failure, [d.message for d in facts.diagnostics]) == ("", [])

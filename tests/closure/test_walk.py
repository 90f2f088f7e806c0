from __future__ import annotations

from collections.abc import Callable

import pytest

from torchless.closure.chains import chain, is_certain
from torchless.closure.model import Closure
from torchless.closure.weights import Weights

Follow = Callable[..., Closure]


def reached(closure: Closure) -> dict[str, bool]:
    """File -> whether it is certain, without the source."""
    return {path: is_certain(closure, path) for path in closure.via if path != closure.spec.source}


def test_files_and_headers_outside(follow: Follow) -> None:
    closure = follow({"a.cu": '#include "b.h"\n#include <torch/all.h>\n', "b.h": "#include <torch/all.h>\n"})
    assert reached(closure) == {"b.h": True, "torch/all.h": True}
    assert closure.outside == {"torch/all.h"}
    assert [(e.includer, e.line, e.offset, e.spelled, e.angled, e.target) for e in closure.edges] == [
        ("a.cu", 1, 0, "b.h", False, "b.h"),
        ("b.h", 1, 0, "torch/all.h", True, "torch/all.h"),
        ("a.cu", 2, 15, "torch/all.h", True, "torch/all.h"),
    ]
    assert [e.includer for e in chain(closure, "torch/all.h")] == ["a.cu"]  # the shortest way
    assert chain(closure, "a.cu") == chain(closure, "nowhere.h") == []


@pytest.mark.parametrize(
    ("condition", "device", "host"),
    [
        ("#ifdef __HIP_DEVICE_COMPILE__", True, False),
        ("#ifndef __HIP_DEVICE_COMPILE__", False, True),
        ("#if defined(__gfx942__)", True, False),
        ("#if defined(__gfx950__) || __GFX12__", False, False),
        ("#if defined(__GFX9__)", True, False),
        ("#if __HIPCC__ && __clang__ && __AMDGCN__", True, True),
        ("#if __cplusplus >= 202002L", True, True),
        ("#if defined(__CUDA_ARCH__) || defined(_MSC_VER) || defined(NDEBUG) || defined(__HIPCC_RTC__)", False, False),
        ("#if defined(USE_ROCM) && USE_ROCM", True, True),
        ("#if ENABLE_CK", True, True),
        ("#if !ENABLE_CK", False, False),
        ("#if NOBODY_DEFINES_THIS", False, False),
        ("#if defined(__Float4_e2m1fn_x2)", False, False),
        ("#if MINE == 7 && defined(FLAG) && FLAG == 1", True, True),
        ("#if __has_include(<vector>)", True, True),
        ("#if __has_include(\"b.h\")", True, True),
        ("#if 0", False, False),
    ],
)  # fmt: skip
def test_what_a_pass_defines(follow: Follow, condition: str, device: bool, host: bool) -> None:
    files = {"a.cu": f"{condition}\n#include <b.h>\n#endif\n", "b.h": ""}
    for is_device, expected in ((True, device), (False, host)):
        closure = follow(files, device=is_device, defines=("MINE=7", "FLAG"))
        assert reached(closure) == ({"b.h": True} if expected else {}), is_device
        assert not closure.undecided


def test_enable_ck_and_other_architectures(follow: Follow) -> None:
    files = {
        "a.cu": "#if !ENABLE_CK && __gfx1250__ && __GFX12__ && AITER_ENABLE_CLUSTER_LAUNCH\n#include <b>\n#endif\n"
    }
    assert reached(follow(files, enable_ck=False, device=True, arch="gfx1250")) == {"b": True}
    assert reached(follow(files, enable_ck=True, device=True, arch="gfx1250")) == {}
    assert reached(follow(files, enable_ck=False, device=True, arch="gfx950:xnack-")) == {}


def test_macros_carry_over_from_file_to_file(follow: Follow) -> None:
    files = {
        "a.cu": '#define NO_TORCH\n#include "b.h"\n#undef NO_TORCH\n#include "c.h"\n#include "d.h"\n',
        "b.h": "#pragma once\n#ifndef NO_TORCH\n#include <torch/b.h>\n#endif\n#define LEVEL 2\n",
        "c.h": "#ifndef NO_TORCH\n#include <torch/c.h>\n#endif\n#define LEVEL 3\n",
        "d.h": "#if LEVEL == 3\n#include <d3>\n#elif LEVEL == 2\n#include <d2>\n#endif\n",
    }
    assert set(reached(follow(files))) == {"b.h", "c.h", "d.h", "torch/c.h", "d3"}


def test_elif_chains(follow: Follow) -> None:
    text = (
        "#if X == 1\n#include <one>\n#elif X == 2\n#include <two>\n#elif X\n#include <more>\n#else\n"
        "#include <none>\n#endif\n"
    )
    for define, expected in (("X=1", "one"), ("X=2", "two"), ("X=9", "more"), ("X=0", "none"), ("Y", "none")):
        assert reached(follow({"a.cu": text}, defines=(define,))) == {expected: True}


def test_nested_conditions_in_arms_that_are_not_active(follow: Follow) -> None:
    text = (
        "#if 0\n#if 1\n#include <a>\n#else\n#include <b>\n#endif\n#elif 1\n#if 0\n#else\n#include <c>\n"
        "#endif\n#else\n#include <d>\n#endif\n"
    )
    assert reached(follow({"a.cu": text})) == {"c": True}


@pytest.mark.parametrize(
    "guard",
    ["#ifndef B_H\n#define B_H\n{}#endif\n", "#pragma once\n{}", "#if !defined(B_H)\n#define B_H 1\n{}#endif\n"],
)
def test_a_file_is_read_once_and_the_edge_that_is_skipped_is_kept(follow: Follow, guard: str) -> None:
    body = "#ifdef SEEN\n#include <twice>\n#endif\n#define SEEN\nint x;\n"
    files = {"a.cu": '#include "b.h"\n#include "c.h"\n', "b.h": guard.format(body), "c.h": '#include "b.h"\n'}
    closure = follow(files)
    assert reached(closure) == {"b.h": True, "c.h": True}
    assert [(e.includer, e.target) for e in closure.edges] == [("a.cu", "b.h"), ("a.cu", "c.h"), ("c.h", "b.h")]


def test_a_file_without_guard_is_read_again(follow: Follow) -> None:
    files = {
        "a.cu": '#define N 1\n#include "x.h"\n#undef N\n#define N 2\n#include "x.h"\n',
        "x.h": "int x;\n#if N == 1\n#include <one>\n#else\n#include <two>\n#endif\n",
    }
    closure = follow(files)
    assert reached(closure) == {"x.h": True, "one": True, "two": True}
    assert closure.lines["x.h"] == 2 * 4


def test_import_is_read_once(follow: Follow) -> None:
    files = {"a.cu": '#import "b.h"\n#import "b.h"\n#include "b.h"\n', "b.h": 'int x;\n#import "b.h"\n'}
    closure = follow(files)
    assert closure.lines["b.h"] == 2 and not closure.troubles


def test_include_next_looks_behind_the_own_folder(follow: Follow) -> None:
    files = {"a.cu": "#include <x.h>\n", "one/x.h": "#include_next <x.h>\n", "two/x.h": "#include <end>\n"}
    closure = follow(files, include_dirs=("one", "two"))
    assert list(closure.via) == ["a.cu", "one/x.h", "two/x.h", "end"]
    assert not closure.troubles


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.cu": '#include "a.cu"\n'}, "a.cu includes itself without end"),
        (
            {"a.cu": '#include "b.h"\n', "b.h": '#include "c.h"\n', "c.h": '#include "b.h"\n'},
            "b.h includes itself without end",
        ),
        (
            {"a.cu": '#include "b.h"\n', "b.h": '#define X\n#include "b.h"\n#include "b.h"\n'},
            "b.h includes itself without end",
        ),
    ],
)
def test_cycles_without_guard_end(follow: Follow, files: dict[str, str], message: str) -> None:
    closure = follow(files)
    assert [trouble.message for trouble in closure.troubles][:1] == [message]
    assert closure.troubles[0].line >= 1
    assert set(closure.via) == set(files)


def test_cycles_with_guards_are_nothing_special(follow: Follow) -> None:
    files = {
        "a.cu": '#include "b.h"\n',
        "b.h": '#ifndef B\n#define B\n#include "c.h"\n#endif\n',
        "c.h": '#pragma once\n#include "b.h"\n#include <torch/all.h>\n',
    }
    closure = follow(files)
    assert reached(closure) == {"b.h": True, "c.h": True, "torch/all.h": True}
    assert not closure.troubles and len(closure.edges) == 4


def test_a_file_may_include_itself_to_count(follow: Follow) -> None:
    text = (
        '#if !defined(N)\n#define N 1\n#include "a.cu"\n#elif N == 1\n#undef N\n#define N 2\n'
        '#include "a.cu"\n#else\n#include <end>\n#endif\n'
    )
    closure = follow({"a.cu": text})
    assert reached(closure) == {"end": True}
    assert not closure.troubles


def test_too_many_files_are_followed_without_conditions(follow: Follow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchless.closure.walk._MOST_FILES", 20)
    files = {
        "a.cu": '#include "b.h"\n#include "last.h"\n',
        "b.h": '#if defined(E)\n#include <e>\n#else\n#define X\n#include "b.h"\n#include "b.h"\n#endif\n',
        "last.h": "#if 0\n#include <torch/all.h>\n#endif\n#include MACRO\n",
    }
    closure = follow(files)
    assert reached(closure) == {"b.h": True, "last.h": True, "e": False, "torch/all.h": False}
    assert any("more than 20 files" in trouble.message for trouble in closure.troubles)


def test_computed_includes(follow: Follow) -> None:
    files = {
        "a.cu": '#define B "b.h"\n#define T <torch/all.h>\n#define ALIAS B\n'
        "#include ALIAS\n#include T\n#include FLAG\n",
        "b.h": "",
        "flag.h": "",
    }
    closure = follow(files, defines=('FLAG=\\"flag.h\\"',))
    assert reached(closure) == {"b.h": True, "torch/all.h": True, "flag.h": True}
    assert [(e.spelled, e.angled) for e in closure.edges] == [("b.h", False), ("torch/all.h", True), ("flag.h", False)]


@pytest.mark.parametrize("operand", ["NOBODY", "F(x)", "SELF", "TORCH_X", "NUMBER"])
def test_computed_includes_that_are_not_known(follow: Follow, operand: str) -> None:
    files = {"a.cu": f"#define F(x) <x>\n#define SELF SELF\n#define NUMBER 12\n#include <ok>\n\n#include {operand}\n"}
    closure = follow(files)
    assert reached(closure) == {"ok": True}
    assert [(t.line, t.message) for t in closure.troubles] == [
        (6, f"#include {operand}: what this includes is not known")
    ]


def test_an_optional_computed_include_is_no_trouble(follow: Follow) -> None:
    text = '#include "made_by_the_build.h"\n#ifdef EXTRA\n#include EXTRA\n#endif\n'
    closure = follow({"a.cu": text})
    assert not closure.troubles
    assert [u.names for u in closure.undecided] == [("EXTRA",)]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff#include <a>\n",
        "#include <a>\r\n#if 0\r\n#include <b>\r\n#endif\r\n",
        "/* \n*/ #include <a> // x\n/*\n#include <b>\n*/",
        "#define LONG 1 + \\\n  1\n#if LONG == 2\n#include <a>\n#else\n#include <b>\n#endif",
    ],
)
def test_ways_of_writing(follow: Follow, text: str) -> None:
    assert reached(follow({"a.cu": text})) == {"a": True}


def test_bytes_that_are_no_text(follow: Follow) -> None:
    closure = follow({"a.cu": b'// \xff\xfe\n#if \xe9\n#include <a>\n#endif\n#include "\xe9.h"\n'})
    assert list(closure.via) == ["a.cu", b"\xe9.h".decode("utf-8", "surrogateescape")]


def test_unbalanced_conditions_are_told_of(follow: Follow) -> None:
    files = {"a.cu": '#include "b.h"\n#include <after>\n', "b.h": "#if 0\n#else\n#include <inside>\n"}
    closure = follow(files)
    assert reached(closure) == {"b.h": True, "inside": True, "after": True}
    assert [(t.path, t.line, t.message) for t in closure.troubles] == [("b.h", 1, "this condition has no #endif")]


def test_a_source_that_cannot_be_read_is_the_scanners_problem(follow: Follow) -> None:
    with pytest.raises(OSError):
        follow({}, source="gone.cu")


# What cannot be decided.


def test_both_arms_of_an_unknown_condition_count(follow: Follow) -> None:
    text = (
        "#include <hip/hip_runtime.h>\n#if HIP_VERSION >= 60000000\n#include <new>\n#else\n"
        "#include <old>\n#endif\n#include <all>\n"
    )
    closure = follow({"a.cu": text})
    assert reached(closure) == {"hip/hip_runtime.h": True, "all": True, "new": False, "old": False}
    (undecided,) = closure.undecided
    assert (undecided.path, undecided.line, undecided.text) == ("a.cu", 2, "HIP_VERSION >= 60000000")
    assert undecided.names == ("HIP_VERSION",)
    assert text[undecided.offset :].startswith("#if HIP")


def test_arms_that_cannot_be_active_do_not_count(follow: Follow) -> None:
    text = (
        "#if 0\n#include <a>\n#elif HIP_A\n#include <b>\n#elif 0\n#include <c>\n#elif 1\n#include <d>\n"
        "#else\n#include <e>\n#endif\n"
    )
    assert reached(follow({"a.cu": text})) == {"b": False, "d": False}


def test_arms_do_not_see_each_others_macros(follow: Follow) -> None:
    text = (
        "#ifdef HIP_A\n#define X 1\n#else\n#ifdef X\n#include <never>\n#endif\n#define Y 1\n#endif\n"
        "#ifdef X\n#include <maybe>\n#endif\n#if defined(X) && defined(Y)\n#include <both>\n#endif\n"
    )
    assert reached(follow({"a.cu": text})) == {"maybe": False, "both": False}


def test_what_every_arm_does_is_known_afterwards(follow: Follow) -> None:
    text = (
        "#ifdef HIP_A\n#define X 1\n#define Y\n#else\n#define X 1\n#define Y 2\n#endif\n"
        "#if X == 1 && defined(Y)\n#include <yes>\n#endif\n#if Y\n#include <maybe>\n#endif\n"
    )
    assert reached(follow({"a.cu": text})) == {"yes": True, "maybe": False}


def test_a_macro_defined_where_it_was_not_is_known_to_be_defined(follow: Follow) -> None:
    text = "#ifndef HIP_A\n#define HIP_A 1\n#endif\n#ifdef HIP_A\n#include <yes>\n#else\n#include <no>\n#endif\n"
    assert reached(follow({"a.cu": text})) == {"yes": True}


def test_an_arm_knows_its_own_condition(follow: Follow) -> None:
    text = (
        "#if defined(HIP_A) && !defined(HIP_B)\n#ifdef HIP_B\n#include <no>\n#endif\n#ifdef HIP_A\n"
        "#include <yes>\n#else\n#include <no>\n#endif\n#endif\n"
    )
    assert reached(follow({"a.cu": text})) == {"yes": False}


def test_undef_of_an_outside_macro(follow: Follow) -> None:
    text = "#undef HIP_A\n#ifdef HIP_A\n#include <no>\n#endif\n"
    assert reached(follow({"a.cu": text})) == {}


def test_what_is_read_after_all_is_certain(follow: Follow) -> None:
    files = {
        "a.cu": '#ifdef HIP_A\n#include "b.h"\n#endif\n#include "c.h"\n#include "b.h"\n',
        "b.h": '#ifndef B_H\n#define B_H\n#include <torch/all.h>\n#include "c.h"\n#endif\n',
        "c.h": "#pragma once\n#include <c10/util/Half.h>\n",
    }
    closure = follow(files)
    assert all(reached(closure).values())
    assert [e.certain for e in closure.edges if e.target == "b.h"] == [False, True]
    assert closure.lines == {"a.cu": 5, "b.h": 5, "c.h": 2}


def test_a_header_read_in_one_arm_is_read_again_behind_it(follow: Follow) -> None:
    files = {
        "a.cu": '#ifdef HIP_A\n#include "b.h"\n#endif\n#define X\n#ifdef HIP_B\n#include "b.h"\n#endif\n',
        "b.h": "#pragma once\n#ifdef X\n#include <with_x>\n#endif\n",
    }
    assert reached(follow(files)) == {"b.h": False, "with_x": False}


def test_what_may_have_been_read_otherwise_before_is_not_certain(follow: Follow) -> None:
    files = {
        "a.cu": '#ifdef HIP_A\n#include "b.h"\n#endif\n#define X 1\n#include "b.h"\n'
        "#ifdef SECOND\n#include <second>\n#endif\n",
        "b.h": "#pragma once\n#ifdef X\n#include <with_x>\n#else\n#define SECOND\n#endif\n"
        '#include <always>\n#include "c.h"\n',
        "c.h": "#ifndef X\n#include <without_x>\n#endif\n#include <deep>\n",
    }
    assert reached(follow(files)) == {
        "b.h": True,
        "c.h": True,
        "always": True,
        "deep": True,
        "with_x": False,
        "without_x": False,
        "second": False,
    }


def test_a_macro_that_a_file_read_before_may_have_left_alone(follow: Follow) -> None:
    files = {
        "a.cu": '#ifdef HIP_A\n#include "b.h"\n#endif\n#undef X\n#include "b.h"\n#ifdef X\n#include <x>\n#endif\n',
        "b.h": "#ifndef B_H\n#define B_H\n#define X 1\n#endif\n",
    }
    assert reached(follow(files)) == {"b.h": True, "x": False}


def test_own_names_are_not_taken_for_the_compilers(follow: Follow) -> None:
    files = {
        "a.cu": '#include <hip/hip_runtime.h>\n#include "b.h"\n#ifdef __MINE__\n#include <mine>\n#endif\n'
        "#ifdef __SOMEBODY_ELSES__\n#include <other>\n#endif\n",
        "b.h": "#ifndef __B_H__\n#define __B_H__\n#ifdef NEVER\n#define __MINE__\n#endif\n#include <b>\n#endif\n",
    }
    closure = follow(files)
    assert reached(closure) == {"hip/hip_runtime.h": True, "b.h": True, "b": True, "other": False}
    assert [u.names for u in closure.undecided] == [("__SOMEBODY_ELSES__",)]


def test_a_header_that_the_build_writes_may_define_what_nobody_else_does(follow: Follow) -> None:
    files = {
        "a.cu": '#ifdef BUILT\n#include <no>\n#endif\n#include "made_by_the_build.h"\n'
        "#ifdef BUILT\n#include <maybe>\n#endif\n"
        '#ifdef OURS\n#include <no>\n#endif\n#include "b.h"\n',
        "b.h": "#ifndef B_H\n#define B_H\n#include <b>\n#ifdef UNUSED\n#define OURS\n#endif\n#endif\n",
    }
    assert reached(follow(files)) == {"made_by_the_build.h": True, "maybe": False, "b.h": True, "b": True}


def test_arms_without_effect_do_not_matter(follow: Follow) -> None:
    closure = follow({"a.cu": "#if HIP_A\nint a;\n#else\nint b;\n#endif\n#include <b>\n"})
    assert reached(closure) == {"b": True} and not closure.undecided
    assert closure.lines["a.cu"] == 6


# Lines.


def test_lines_are_those_of_active_arms(follow: Follow) -> None:
    text = "int a;\n#if 0\nint b;\nint c;\n#else\nint d;\n#endif\nint e;\n"
    assert follow({"a.cu": text}).lines == {"a.cu": 5}  # a, #if, d, #endif, e


def test_outside_headers_weigh_what_no_earlier_one_brought(follow: Follow) -> None:
    weights = Weights(
        {"big": frozenset({0, 1}), "small": frozenset({1}), "other": frozenset({1, 2})}, {0: 1000, 1: 50, 2: 7}
    )
    text = "#include <small>\n#include <big>\n#include <unknown>\n#include <other>\n#include <big>\n"
    closure = follow({"a.cu": text}, weights=weights)
    assert closure.lines == {"small": 50, "big": 1000, "other": 7, "a.cu": 5}

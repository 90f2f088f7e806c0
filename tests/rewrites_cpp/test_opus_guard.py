from __future__ import annotations

import pytest

from torchless.model import Finding
from torchless.rewrites.opus_guard import define_per_unit, find_guard, invert_guard, uses_guarded_types
from torchless.text.edits import apply

HEADER = """#pragma once
#include "base.h"
// Element types for the kernels.
// torch's are needed only by the specializations below. Who does not use them may
// define LIB_NO_TORCH_TYPES to keep torch's headers out. See base.h.
#ifndef LIB_NO_TORCH_TYPES
#include <c10/util/Half.h>
#endif
template <typename T> struct element;
template <> struct element<float> { using type = float; };
#ifndef LIB_NO_TORCH_TYPES
template <> struct element<c10::Half> { using type = half_t; };
#endif
"""
TURNED = """#pragma once
#include "base.h"
// Element types for the kernels.
// torch's are needed only by the specializations below. A translation unit that
// uses them defines LIB_TORCH_TYPES before it includes this header. See base.h.
#ifdef LIB_TORCH_TYPES
#include <c10/util/Half.h>
#endif
template <typename T> struct element;
template <> struct element<float> { using type = float; };
#ifdef LIB_TORCH_TYPES
template <> struct element<c10::Half> { using type = half_t; };
#endif
"""
USER = '// licence\n\n#include <torch/all.h>\n#include "types.h"\nusing X = element<scalar_t>::type;\n'
FREE = (
    "// licence\n\n// No torch here: LIB_NO_TORCH_TYPES keeps it out.\n"
    '#define LIB_NO_TORCH_TYPES\n#include "types.h"\nint x;\n'
)


def turned(view, eol: str = "\n") -> tuple[Finding, dict[str, bytes]]:
    texts = {"types.h": HEADER, "user.cu": USER, "free.cu": FREE, "plain.cu": '#include "types.h"\nelement<float> x;\n'}
    views = {p: view(t.replace("\n", eol).encode(), p) for p, t in texts.items()}
    guard = find_guard(views["types.h"])
    assert guard is not None
    users = [p for p, v in views.items() if uses_guarded_types(v, guard)]
    finding = invert_guard(views["types.h"], guard, views.values(), users)
    edits = {p: [e for e in finding.edits if e.path == p] for p in texts}
    return finding, {p: apply(v.source.data, edits[p]) for p, v in views.items()}


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_the_guard_is_turned_round_in_every_file(view, eol: str) -> None:
    finding, after = turned(view, eol)
    want = {
        "types.h": TURNED,
        "user.cu": USER.replace(
            "#include <torch",
            "#define LIB_TORCH_TYPES\n#include <torch",
        ),
        "free.cu": '// licence\n\n#include "types.h"\nint x;\n',
        "plain.cu": '#include "types.h"\nelement<float> x;\n',
    }
    assert after == {p: t.replace("\n", eol).encode() for p, t in want.items()}
    assert finding.code == "TL107" and "user.cu" in finding.message


def test_a_second_run_finds_nothing(view) -> None:
    _, after = turned(view)
    assert find_guard(view(after["types.h"], "types.h")) is None


def test_a_comment_keeps_its_other_sentences(view) -> None:
    text = FREE.replace("keeps it out.\n", "keeps it out. Seeds come\n// from Python.\n")
    header = view(HEADER, "types.h")
    guard = find_guard(header)
    assert guard is not None
    source = view(text, "free.cu")
    finding = invert_guard(header, guard, [source], [])
    got = apply(source.source.data, [e for e in finding.edits if e.path == "free.cu"])
    assert got == b'// licence\n\n// Seeds come\n// from Python.\n#include "types.h"\nint x;\n'


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("element<float> x;\n", False),
        ("element<int32_t> x;\n", False),
        ("element<scalar_t> x;\n", True),
        ("element<c10::Half> x;\n", True),
        ("c10::Half h;\n", True),  # found through the header
        ("#include <torch/all.h>\nc10::Half h;\n", False),  # has its own
        ("// element<scalar_t>\n", False),
        ("other<scalar_t> x;\n", False),
    ],
)
def test_users(view, text: str, uses: bool) -> None:
    guard = find_guard(view(HEADER, "types.h"))
    assert guard is not None
    assert uses_guarded_types(view(text), guard) is uses


@pytest.mark.parametrize(
    "text",
    [
        HEADER.replace("#include <c10/util/Half.h>\n#endif", "#include <c10/util/Half.h>\n#else\nint x;\n#endif"),
        HEADER.replace("LIB_NO_TORCH_TYPES", "LIB_PLAIN"),  # no opposite to name
        HEADER.replace("<c10/util/Half.h>", "<half.h>"),
        TURNED,
        "#ifndef TYPES_NO_H\n#define TYPES_NO_H\n#endif\n",
    ],
)
def test_not_a_guard(view, text: str) -> None:
    assert find_guard(view(text, "types.h")) is None


def test_a_header_among_the_users_or_a_test_elsewhere_is_for_a_person(view) -> None:
    header = view(HEADER, "types.h")
    guard = find_guard(header)
    assert guard is not None
    shared = view("element<scalar_t> x;\n", "shared.h")
    tester = view("#ifdef LIB_NO_TORCH_TYPES\n#endif\n", "tester.cu")
    assert invert_guard(header, guard, [shared], ["shared.h"]).edits == ()
    assert invert_guard(header, guard, [tester], []).edits == ()


def test_one_define_per_unit_instead(view, rewrites) -> None:
    guard = find_guard(view(HEADER, "types.h"))
    assert guard is not None
    rewrites(
        lambda v: define_per_unit(guard, [v]),
        '// licence\n\n#include "types.h"\nint x;\n',
        '// licence\n\n#define LIB_NO_TORCH_TYPES\n#include "types.h"\nint x;\n',
    )

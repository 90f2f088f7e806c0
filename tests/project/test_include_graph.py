from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.facts.includes import (
    Include,
    IncludeGraph,
    chain,
    graph_of,
    scan_includes,
    sibling_dirs,
    specs_of,
    torch_headers,
)
from torchless.project.discover import load
from torchless.text.lexer import Kind, code_tokens, lex

WriteTree = Callable[[Mapping[str, "str | bytes"]], Path]


def spelled(text: str | bytes) -> list[str]:
    return [include.spelled for include in scan_includes(text if isinstance(text, bytes) else text.encode())]


@pytest.mark.parametrize(
    "directive",
    [
        '#include "a.h"',
        "#include <a.h>",
        '  #  include\t"a.h" // why',
        '/* x */ #include "a.h"',
        '/* x\n y */ /**/ #include "a.h"',
        '#/**/include "a.h"',
        '# \\\n include "a.h"',
        "#include \\\r\n <a.h>",
        '#include/**/"a.h"',
        '\ufeff#include "a.h"',
        '#import "a.h"',
        "#include_next <a.h>",
        '#if 0\n#include "a.h"\n#endif',
        '#define X don\'t\n#include "a.h"',
        '#error "\n#include "a.h"',
        'int x = 1\'000; char c = L\'"\'; auto s = "\\"/*";\n#include "a.h"',
        'auto s = R"x( )" /* )x";\n#include "a.h"',
        'int fooR"(";\n#include "a.h"',
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_directives(directive: str, eol: str) -> None:
    text = (directive + "\nint last;\n").replace("\r\n", "\n").replace("\n", eol)
    assert spelled(text) == ["a.h"]


@pytest.mark.parametrize(
    "text",
    [
        '// #include "a.h"\n',
        '// x \\\n#include "a.h"\n',
        '/*\n#include "a.h"\n*/\n',
        'auto s = R"(\n#include "a.h"\n)";\n',
        'auto s = R"sixteen_chars_xy(\n#include "a.h"\n)" )sixteen_chars_xy";\n',
        'auto s = "#include <a.h>";\n',
        '#define S(x) \\\n#include "a.h"\n',
        'f(#include "a.h"\n',
        "int included; #\n",
        '#includes "a.h"\n',
        "#include\n",
        '/* unclosed\n#include "a.h"\n',
    ],
)
def test_what_only_looks_like_a_directive(text: str) -> None:
    assert spelled(text) == []


PIECES = [
    '#include "a.h"', "#include <b/c.h>", "# include M", "#define X ", "#if 0", "#error don't", "\n", "\r\n", "\\\n",
    " ", "\t", "//", "/*", "*/", '"', "'", "\\", 'R"(', ')"', 'R"d(', ')d"', "1'0", "x", "u8", "<", ">", ";", "(", ")",
    "é", "#", "include",
]  # fmt: skip


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_directives_are_those_of_the_lexer(text: str) -> None:
    data = text.encode()
    tokens = code_tokens(lex(data))
    expected = [
        (sharp.start, operand.text.strip(b'<>"').decode())
        for sharp, keyword, operand in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if sharp.kind is Kind.DIRECTIVE
        and keyword.text in (b"include", b"include_next", b"import")
        and operand.directive == keyword.text.decode()
        and (operand.kind is Kind.HEADER or operand.text.decode().isidentifier())
    ]
    assert [(i.offset, i.spelled) for i in scan_includes(data)] == expected


def test_offsets_and_kinds() -> None:
    data = 'é\n  #include "x/é.h"\n#include <b>\n#include MACRO\n'.encode()
    assert scan_includes(data) == (
        Include(5, "x/é.h", False),
        Include(data.index(b"#include <b>"), "b", True),
        Include(data.index(b"#include M"), "MACRO", False, computed=True),
    )
    assert all(data[i.offset : i.offset + 1] == b"#" for i in scan_includes(data))


def test_closure_prefers_the_own_folder_and_ends_on_cycles(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "k/a.cu": '#include "h.h"\n#include <h.h>\n#include <torch/all.h>\n#include "sub/../h.h"\n',
            "k/h.h": '#include "a.cu"\n#include "deep.h"\n',
            "inc/h.h": '#include "deep.h"\n#include "torch/own.h"\n',
            "inc/deep.h": '#include "h.h"\n',
            "inc/torch/own.h": "",
            "other/deep.h": "",
        }
    )
    graph = IncludeGraph(root)
    closure = graph.closure("k/a.cu", ["inc", "other"])
    assert closure == {
        "k/a.cu": "",
        "k/h.h": "k/a.cu",
        "inc/h.h": "k/a.cu",
        "torch/all.h": "k/a.cu",
        "inc/deep.h": "k/h.h",
        "inc/torch/own.h": "inc/h.h",
    }
    assert chain(closure, "inc/torch/own.h") == ["k/a.cu", "inc/h.h", "inc/torch/own.h"]
    assert chain(closure, "absent.h") == []
    assert torch_headers(closure) == ["torch/all.h"]
    assert graph.is_file("inc/torch/own.h") and not graph.is_file("torch/all.h")
    assert [(f, i.spelled) for f, i in graph.missing("k/a.cu", ["inc", "other"])] == [("k/a.cu", "torch/all.h")]
    assert set(graph.closure("k/a.cu", ["inc"], frozenset({"inc/h.h"}))) == {
        "k/a.cu", "k/h.h", "torch/all.h", "inc/deep.h"
    }  # fmt: skip


def test_include_folders_differ_by_way_of_building(write_tree: WriteTree) -> None:
    root = write_tree({"a.cu": '#include "h.h"\n', "one/h.h": "#include <c10/x.h>\n", "two/h.h": "", "b.cu": ""})
    graph = IncludeGraph(root, {"a.cu": [("two",), ("one",)], "b.cu": [()]})
    assert set(graph.closure_of("a.cu")) == {"a.cu", "one/h.h", "two/h.h", "c10/x.h"}
    assert graph.users_of("one/h.h") == graph.users_of("c10/x.h") == graph.users_of("a.cu") == ["a.cu"]
    assert graph.users_of("nothing.h") == []


def test_overlay_replaces_text_and_adds_files(write_tree: WriteTree) -> None:
    root = write_tree({"a.cu": '#include "h.h"\n', "h.h": "#include <torch/all.h>\n"})
    graph = IncludeGraph(root, {"a.cu": [()]})
    assert torch_headers(graph.closure_of("a.cu")) == ["torch/all.h"]
    edited = graph.with_overlay({"h.h": b'#include "new.h"\n', "new.h": b"#include <c10/x.h>\n"})
    assert set(edited.closure_of("a.cu")) == {"a.cu", "h.h", "new.h", "c10/x.h"}
    assert torch_headers(graph.closure_of("a.cu")) == ["torch/all.h"]
    assert set(edited.with_overlay({"h.h": b""}).closure_of("a.cu")) == {"a.cu", "h.h"}


def test_what_an_overlay_leaves_as_it_is_is_not_walked_again(write_tree: WriteTree) -> None:
    root = write_tree(
        {"a.cu": '#include "h.h"\n', "b.cu": '#include "i.h"\n', "h.h": '#include "i.h"\n', "i.h": "int i;\n"}
    )
    graph = IncludeGraph(root, {"a.cu": [()], "b.cu": [()]})
    a, b = graph.closure_of("a.cu"), graph.closure_of("b.cu")
    same = graph.with_overlay({"i.h": b"// moved\nlong i;\n"})  # it includes what it did
    assert same.closure_of("a.cu") is a and same.closure_of("b.cu") is b
    other = graph.with_overlay({"h.h": b"#include <c10/x.h>\n"})
    assert set(other.closure_of("a.cu")) == {"a.cu", "h.h", "c10/x.h"} and other.closure_of("b.cu") is b
    assert graph.closure_of("a.cu") is a
    # a file that was not there may be what a directive means
    assert IncludeGraph(root, {"a.cu": [("new",)]}).with_overlay(
        {"h.h": b'#include "j.h"\n', "new/j.h": b""}
    ).closure_of("a.cu").keys() == {"a.cu", "h.h", "new/j.h"}


def test_links_to_headers_give_one_name(write_tree: WriteTree) -> None:
    root = write_tree({"k/a.cu": '#include "x/h.h"\n#include "y/h.h"\n#include "alias.h"\n', "x/h.h": ""})
    (root / "y").symlink_to(root / "x")
    (root / "alias.h").symlink_to(root / "x/h.h")
    assert set(IncludeGraph(root).closure("k/a.cu", [""])) == {"k/a.cu", "x/h.h"}
    assert set(IncludeGraph(root).closure("k/a.cu", ["."])) == {"k/a.cu", "x/h.h"}


def test_p02_hard_links_lead_to_one_name(write_tree: WriteTree) -> None:
    root = write_tree({"a.cu": '#include "x/h.h"\n#include "y/k.h"\n', "x/h.h": '#include "in_y.h"\n', "y/in_y.h": ""})
    os.link(root / "x/h.h", root / "y/k.h")
    assert set(IncludeGraph(root, {"a.cu": [()]}).closure_of("a.cu")) == {
        "a.cu",
        "x/h.h",
        "y/k.h",
        "in_y.h",
        "y/in_y.h",
    }
    graph = IncludeGraph(root, {"a.cu": [()]}, further_names={"y/k.h": "x/h.h"})
    assert set(graph.closure_of("a.cu")) == {"a.cu", "x/h.h", "y/in_y.h"}  # what stands beside either name is found
    assert set(graph.with_overlay({"x/h.h": b""}).closure_of("a.cu")) == {"a.cu", "x/h.h"}


def test_paths_out_of_the_checkout_stay_as_spelled(write_tree: WriteTree) -> None:
    write_tree({"h.h": "", "root/a.cu": '#include "../h.h"\n#include "/etc/passwd"\n', "root/x": ""})
    graph = IncludeGraph(write_tree({}) / "root")
    assert set(graph.closure("a.cu", ["..", "/etc"])) == {"a.cu", "../h.h", "/etc/passwd"}


def test_an_orphan_gets_the_nearest_folder_that_has_its_headers(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "aiter/jit/optCompilerConfig.json": '{"m": {"srcs": ["f\'{AITER_CSRC_DIR}/owned.cu\'"]}}',
            "csrc/owned.cu": "",
            "csrc/include/common.h": "",
            "csrc/ck/orphan.cu": '#include "impl.h"\n#include "common.h"\n#include <torch/all.h>\n',
            "csrc/ck/parts/impl.h": '#include "detail/more.h"\n',
            "csrc/ck/lib/detail/more.h": "",
            "csrc/far/impl.h": "",
            "csrc/far/torch/all.hpp": "",
        }
    )
    project = load(root)
    graph = graph_of(project)
    assert sibling_dirs(project, graph, "csrc/ck/orphan.cu") == ("csrc/include", "csrc/ck/parts", "csrc/ck/lib")
    assert set(graph.closure_of("csrc/ck/orphan.cu")) >= {"csrc/ck/parts/impl.h", "csrc/ck/lib/detail/more.h"}
    assert sorted(graph.units) == ["csrc/ck/orphan.cu", "csrc/owned.cu"]
    (spec,) = specs_of(project, graph, "csrc/ck/orphan.cu", devices=(True,))
    assert (spec.include_dirs, spec.device, spec.enable_ck) == (
        ("csrc/include", "csrc/ck/parts", "csrc/ck/lib"),
        True,
        True,
    )


def test_a_source_in_two_modules_is_not_parsed_twice_the_same_way(write_tree: WriteTree) -> None:
    entry = '{"srcs": ["f\'{AITER_CSRC_DIR}/a.cu\'"], "flags_extra_cc": ["%s"]}'
    entries = ", ".join(f'"{n}": {entry % flag}' for n, flag in {"a": "'-DX'", "b": "'-DX'", "c": "'-DY'"}.items())
    root = write_tree({"aiter/jit/optCompilerConfig.json": "{" + entries + "}", "csrc/a.cu": ""})
    project = load(root)
    specs = specs_of(project, graph_of(project), "csrc/a.cu")
    assert [(s.defines, s.device) for s in specs] == [(("X",), False), (("X",), True), (("Y",), False), (("Y",), True)]


def test_a_plain_folder_with_a_header_at_its_top(write_tree: WriteTree) -> None:
    root = write_tree({"src/a.cu": '#include "top.h"\n', "top.h": "#include <torch/all.h>\n"})
    project = load(root)
    assert torch_headers(graph_of(project).closure_of("src/a.cu")) == ["torch/all.h"]

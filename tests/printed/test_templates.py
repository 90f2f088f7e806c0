"""Which strings of a script are one piece of C++, and what stands where the script puts something else."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchless.printed.templates import Template, templates_of
from torchless.rewrites.dispatch_tables.pytext import Script
from torchless.text.source import SourceFile
from torchless.units.scope import has_torch_text


def templates(text: str) -> list[Template]:
    return templates_of(Script(SourceFile("gen.py", dedent(text).encode())), has_torch_text)


def code(text: str) -> str:
    (template,) = templates(text)
    return template.code.decode()


def test_strings_with_torch_are_listed_and_others_are_not() -> None:
    found = templates('''
        """A docstring about torch::Tensor."""
        A = "int x;"
        B = "void f(torch::Tensor& x);"
        C = {"head": "#include <torch/all.h>"}
        D = b"torch::Tensor"
    ''')
    assert [(t.line, t.code) for t in found] == [
        (4, b"void f(torch::Tensor& x);"),
        (5, b"#include <torch/all.h>"),
    ]


def test_one_value_is_one_hole_and_names_of_functions_are_all_the_same() -> None:
    text = code("""
        def make(k):
            return f"torch::Tensor {k.name}(torch::Tensor& x) {{ return run<{k.n}, {k.n}, {k.m}>(x); }}"
    """)
    name = "torchless_hole_function"
    assert text == (
        f"torch::Tensor {name}(torch::Tensor& x) "
        "{ return run<torchless_hole_1, torchless_hole_1, torchless_hole_2>(x); }"
    )
    assert name in code('X = "template torch::Tensor {name}<{types}>(torch::Tensor& x);".format(name=n, types=t)')
    assert name not in code('X = "{ torch::Tensor y = {call}(x); return {call}(y); }".replace("a", "b")')


def test_a_statement_that_is_another_string_is_put_in() -> None:
    text = code('''
        def make(k):
            WHOLE = f"""torch::Tensor f(torch::Tensor& x)
        {{{{
            {{body}}
        }}}}
        """
            body = f"""launch<{k.n}>(x);
            return x;"""
            return WHOLE.format(body=body)
    ''')
    assert "launch<torchless_hole_0>(x);\n    return x;" in text


def test_several_strings_for_one_place_are_all_put_in() -> None:
    found = templates("""
        def make(tuned):
            whole = "torch::Tensor f(torch::Tensor& x) {{ \\n {body} \\n }}"
            one = "return x;"
            other = "return {what};"
            if tuned:
                return whole.format(body=one)
            return whole.format(body=other.format(what="y"))
    """)
    assert [t.code for t in found] == [
        b"torch::Tensor f(torch::Tensor& x) { \n {return x;}{return torchless_hole_0;} \n }"
    ]
    assert found[0].unknown == ()


@pytest.mark.parametrize(
    "script",
    [
        # a table of values, and a function that makes them
        """
        def make(k):
            def content(pad):
                return f"return run<{pad}>(x);"
            whole = "torch::Tensor f(torch::Tensor& x) {{\\n {body}\\n }}"
            values = {"body": content(True)}
            return whole.format(**values)
        """,
        # a word that is replaced
        """
        def make(k):
            whole = "torch::Tensor f(torch::Tensor& x) {\\n BODY_HERE\\n }"
            body = "return run<3>(x);"
            return whole.replace("BODY_HERE", body)
        """,
        # percent
        """
        def make(k):
            body = "return run<%d>(x);" % k
            return f"torch::Tensor f(torch::Tensor& x) {{\\n {body}\\n }}"
        """,
    ],
)
def test_ways_to_put_one_string_into_another(script: str) -> None:
    assert "return run<" in code(script)


@pytest.mark.parametrize(
    "value",
    ["read(path)", "other.body", "'\\n'.join(lines)", "k"],
)
def test_a_statement_that_is_not_found_is_told(value: str) -> None:
    (template,) = templates(f"""
        def make(k):
            whole = "torch::Tensor f(torch::Tensor& x) {{{{\\n {{body}}\\n }}}}"
            return whole.format(body={value})
    """)
    (offset,) = template.unknown
    assert template.code[offset:].startswith(b"torchless_hole_0")


def test_holes_in_expressions_and_types_are_not_unknown() -> None:
    (template,) = templates('''
        def make(k):
            return f"""{k.result} f(torch::Tensor& x)
            {{
                {k.type} y = {k.value};
                int {k.name} = {k.n} + g({k.m});
            }}"""
    ''')
    assert template.unknown == ()


def test_what_is_written_to_one_file_is_one_text() -> None:
    found = templates("""
        def head(path, names):
            top = "#pragma once\\n#include <torch/all.h>\\n"
            row = "void {name}(torch::Tensor& x);\\n"
            with open(os.path.join(path, "gemm_manifest.h"), "w") as f:
                f.write(top)
                f.writelines(row.format(name=n) for n in names)
                f.write(footer())
    """)
    assert [(t.file, t.code) for t in found] == [
        ("gemm_manifest.h", b"#pragma once\n#include <torch/all.h>\nvoid torchless_hole_function(torch::Tensor& x);\n")
    ]


def test_the_file_that_a_text_is_written_to() -> None:
    (template,) = templates("""
        def make(k):
            text = f"void {k.name}(torch::Tensor& x);"
            Path(os.path.join(folder, f"{k.name}.cuh")).write_text(text)
    """)
    assert template.file == "*.cuh"


def test_each_byte_of_the_c_is_in_one_unit() -> None:
    (template,) = templates("""
        def make(k):
            return f"void {k.name}(torch::Tensor& x) {{{{ {k.\u00e9} }}}} // \u00e9\\n" "tail"
    """)
    assert len(template.starts) == len(template.units) + 1
    assert template.starts[-1] == len(template.code)


PIECES = """
    HEAD = '#include "kernel.h"\\nint pick(at::ScalarType t)\\n{\\n'
    TAIL = "    TORCH_CHECK(false);\\n}\\n"
    WIDE = "    if (is<{dtype}>(t)) {{ return {number}; }}\\n"
    SLIM = "    if (like<{dtype}>(t)) {{ return {number}; }}\\n"
    BY_NAME = {"wide": [WIDE, None], "slim": [SLIM, None]}
    def begin(folder):
        path = os.path.join(folder, "pick.h")
        with open(path, "w") as f:
            f.write(HEAD)
    def end(folder):
        path = os.path.join(folder, "pick.h")
        with open(path, "a") as f:
            f.write(TAIL)
    def middle(folder, name):
        path = os.path.join(folder, "pick.h")
        body, _ = BY_NAME[name]
        with open(path, "a") as f:
            text = body.format(dtype="F8", number=1)
            f.write(text)
"""


def test_a_file_that_is_written_piece_by_piece_is_one_text() -> None:
    (template,) = templates(PIECES)
    assert template.file == "pick.h"
    assert template.code.decode() == (
        '#include "kernel.h"\nint pick(at::ScalarType t)\n{\n'
        "    if (is<torchless_hole_0>(t)) { return torchless_hole_1; }\n"
        "    if (like<torchless_hole_0>(t)) { return torchless_hole_1; }\n"
        "    TORCH_CHECK(false);\n}\n"
    )


def test_pieces_of_files_that_are_called_otherwise_stay_apart() -> None:
    other = PIECES.replace('"pick.h")\n        body', '"other.h")\n        body')
    assert [t.file for t in templates(other)] == ["pick.h"]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("void f(at::Tensor x) {{ return {(1, 1)}<{(dtype)}>; }}", 2),
        ("void f(at::Tensor x) {{ return {call}<{dtype}>; }}", 2),
        ("void f(at::Tensor x) { return g({{1, 2}}); }", 0),  # braces of C++
        ("void f(at::Tensor x) {{ return; }}", 0),  # a block in a block
    ],
)
def test_a_string_with_fields_is_filled_by_another_script(text: str, fields: int) -> None:
    (template,) = templates(f"TEXT = {text!r}")
    assert sum(unit.is_hole for unit in template.units) == fields
    assert (b"{{" in template.code) == (fields == 0)

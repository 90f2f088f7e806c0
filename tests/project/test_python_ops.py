from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchless.project.model import OpParam, PyOp
from torchless.project.ops import decorator_call, decorator_parameters, ops_of, parse_python, read_ops

WriteTree = Callable[[Mapping[str, "str | bytes"]], Path]

SOURCE = """\
from typing import Optional

from torch import Tensor
from ..jit.core import compile_ops
from ..jit import core as jit
from ..jit.core import compile_ops as op

MD_NAME = "module_one"


@compile_ops(MD_NAME)
def plain(out: Tensor, x: "Tensor", eps: float = 1e-6, *, flag: bool = True) -> None: ...


@jit.compile_ops(f"{MD_NAME}_more", fc_name="bound", develop=True, gen_fake=fake)
def renamed(*args, bias: Optional[Tensor] = None, **rest): ...


MD_NAME = "module_two"


class Holder:
    @functools.cache
    @op(
        MD_NAME,
        "positional",
        make_args,
        None,
        "ctypes",
    )
    async def method(self): ...
"""


def read(text: str | bytes) -> tuple[list[PyOp], list[str]]:
    return ops_of(parse_python("ops.py", text if isinstance(text, bytes) else text.encode()))


def test_ops_are_read() -> None:
    (plain, renamed, method), problems = read(SOURCE)
    assert problems == []
    assert (plain.module, plain.fc_name, plain.develop, plain.ffi_type) == ("module_one", "plain", False, "pybind")
    assert plain.params == (
        OpParam("out", "Tensor", ""),
        OpParam("x", '"Tensor"', ""),
        OpParam("eps", "float", "1e-6"),
        OpParam("flag", "bool", "True"),
    )
    assert plain.returns == "None"
    assert (renamed.module, renamed.fc_name, renamed.develop) == ("module_one_more", "bound", True)
    assert [p.name for p in renamed.params] == ["*args", "bias", "**rest"]
    assert (renamed.has_gen_func, renamed.has_gen_fake, renamed.returns) == (False, True, "")
    assert (method.module, method.fc_name, method.ffi_type) == ("module_two", "positional", "ctypes")
    assert (method.has_gen_func, method.has_gen_fake) == (True, False)


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("first", ["", "# 学习 é\n"])
def test_ranges_are_bytes_of_the_file(eol: str, bom: bytes, first: str) -> None:
    text = first + 'x = "é学"; y = 1\n@compile_ops("é", fc_name="f")  # é\ndef f(a: "é" = "学"): ...\n'
    data = bom + text.replace("\n", eol).encode()
    (op,), _ = read(data)
    assert data[op.start : op.end].decode() == '@compile_ops("é", fc_name="f")'
    assert op.params == (OpParam("a", '"é"', '"学"'),)
    assert decorator_call(parse_python("ops.py", data), op).keywords[0].arg == "fc_name"


def test_ranges_in_another_encoding() -> None:
    text = '# -*- coding: latin-1 -*-\nx = "é"; \\\n@compile_ops("é")  # é\ndef f(): ...\n'.replace("; \\\n", "\n")
    data = text.encode("latin-1")
    (op,), _ = read(data)
    assert data[op.start : op.end] == b'@compile_ops("\xe9")'
    assert op.module == "é"


def test_decorator_text_in_strings_and_comments_is_no_op() -> None:
    assert read('"""\n@compile_ops("m")\ndef f(): ...\n"""\n# @compile_ops("m")\ndef compile_ops(m): ...\n') == ([], [])


def test_what_cannot_be_told_from_the_file_is_said() -> None:
    text = """
if x:
    NAME = "a"
@compile_ops(NAME, fc_name=NAME, develop=NAME, ffi_type=NAME)
def f(): ...
g = compile_ops("m")(h)
"""
    (op,), problems = read(text)
    assert (op.module, op.fc_name, op.ffi_type, op.develop) == ("", "", "", False)
    assert problems == [
        "line 4: f: the module name is not a plain string: NAME",
        "line 4: f: fc_name is not a plain string: NAME",
        "line 4: f: develop is neither True nor False: NAME",
        "line 4: f: ffi_type is not a plain string: NAME",
        "line 6: compile_ops is called, but not as a decorator",
    ]


@pytest.mark.parametrize(
    "assignment",
    [
        'A, NAME = "m", "n"',
        'NAME += "n"',
        "for NAME in x: pass",
        "try:\n    NAME = 'n'\nexcept E: pass",
        "def NAME(): ...",
    ],
)
def test_a_name_that_may_have_changed_is_not_resolved(assignment: str) -> None:
    (op,), problems = read(f'NAME = "m"\n{assignment}\n@compile_ops(NAME)\ndef f(): ...\n')
    assert op.module == "" and len(problems) == 1


@pytest.mark.parametrize(
    "data", [b"def f(:\n", b"\x00", b"\xff\xfe", b"# coding: nonsense\n", b"x = '\xe9'\n", b"(" * 300]
)
def test_unreadable_file_is_a_problem(write_tree: WriteTree, data: bytes) -> None:
    root = write_tree({"a.py": data + b"\n# compile_ops", "b.py": '@compile_ops("m")\ndef f(): ...\n'})
    ops, problems = read_ops(root, ["a.py", "absent.py", "b.py"])
    assert [op.path for op in ops] == ["b.py"]
    assert [path for path, _ in problems] == ["a.py", "absent.py"]
    assert all("\n" not in message and message for _, message in problems)


def test_deep_nesting_does_not_recurse(write_tree: WriteTree) -> None:
    chain = "if x:\n    y\n" + "elif x:\n    y\n" * 2000
    root = write_tree({"a.py": chain + '@compile_ops("m")\ndef f(): ...\n'})
    ops, problems = read_ops(root, ["a.py"])
    assert ops or problems  # either is fine, an exception is not


def test_decorator_parameters() -> None:
    text = b"def compile_ops(_md_name: str, fc_name=None, *, develop: bool = False): ...\n"
    assert decorator_parameters(text) == {"_md_name", "fc_name", "develop"}
    assert decorator_parameters(b"def other(): ...") == decorator_parameters(b"def (") == frozenset()

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import black
import pytest

from torchless.model import Finding
from torchless.project.model import PyOp
from torchless.project.ops import ops_of, parse_python
from torchless.rewrites.python_layout import BlackStyle, lay_out_decorator, read_style
from torchless.rewrites.python_ops import Bound, Kind, annotation_kind, develop_flags, flips, op_blockers
from torchless.text.edits import apply
from torchless.text.source import SourceFile

FUNCTION = "def f(x: Tensor) -> None: ...\n"


def read(data: bytes) -> list[PyOp]:
    ops, problems = ops_of(parse_python("ops.py", data))
    assert problems == []
    return ops


def run(
    data: bytes, bound: Mapping[PyOp, Bound] | None = None, style: BlackStyle | None = None
) -> tuple[bytes, list[Finding]]:
    """The file after its ops were flipped, and the findings; flipping it once more must find nothing to edit."""
    style = style or BlackStyle()
    findings = develop_flags(read(data), lambda path: SourceFile(path, data), bound or {}, style)
    after = apply(data, [edit for finding in findings for edit in finding.edits])
    again = develop_flags(read(after), lambda path: SourceFile(path, after), {}, style)
    assert [f for f in again if f.edits] == []
    return after, findings


LAYOUTS = [
    ('@compile_ops("m")', '@compile_ops("m", develop=True)'),
    ('@compile_ops("m",)', '@compile_ops("m", develop=True,)'),
    ('@compile_ops("m", develop=False)', '@compile_ops("m", develop=True)'),
    ('@compile_ops(("m"), fc_name=("g"))', '@compile_ops(("m"), fc_name=("g"), develop=True)'),
    ('@compile_ops("m")  # é, why', '@compile_ops("m", develop=True)  # é, why'),
    ('@core.compile_ops ( "m" )', '@core.compile_ops ( "m", develop=True )'),
    ('@compile_ops(\n    "m", fc_name="g"\n)', '@compile_ops(\n    "m", fc_name="g", develop=True\n)'),
    (
        '@compile_ops(\n    "é",  # one, (\n    fc_name="g",  # two)\n    # three,\n)',
        '@compile_ops(\n    "é",  # one, (\n    fc_name="g",  # two)\n    develop=True,\n    # three,\n)',
    ),
    ('@compile_ops("m"  # one\n)', '@compile_ops("m", develop=True  # one\n)'),
    ('@compile_ops("m",\n             fc_name="g")', '@compile_ops("m",\n             fc_name="g", develop=True)'),
]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(("before", "after"), LAYOUTS)
def test_flag_is_inserted_and_nothing_else_changes(before: str, after: str, eol: str, bom: bytes) -> None:
    rest = "# é" + "\n" + "x = [1,2]\n" + "%s\n" + FUNCTION  # x keeps the file from being black's
    data = bom + (rest % before).replace("\n", eol).encode()
    result, findings = run(data)
    assert result == bom + (rest % after).replace("\n", eol).encode()
    assert [(f.code, f.blocks, f.path) for f in findings] == [("TL701", False, "ops.py")]


LONG = "module_with_a_name_that_is_rather_long_on_purpose"
BLACK = [
    f'@compile_ops("{LONG}", fc_name="short")',
    f'@compile_ops(\n    "{LONG}",\n    fc_name="a_name",\n)',
    f'@compile_ops(\n    "{LONG}", fc_name="a_name_of_a_good_length"\n)',
    f'@compile_ops("{LONG}")  # and a comment that is long',
    f'@compile_ops(  # why\n    "{LONG}",\n    # a comment, alone\n    fc_name="a_name",  # é behind, it (\n)',
    f"@compile_ops(\n    MD_NAME,\n    gen_fake=lambda x: {{x: {list(range(30))}}},\n)",
]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [0, 4, 8])
@pytest.mark.parametrize("decorator", BLACK)
@pytest.mark.parametrize("length", [60, 88, 120])
def test_black_leaves_the_result_alone(decorator: str, indent: int, eol: str, length: int) -> None:
    blanks = " " * indent
    head = 'MD_NAME = "m"  # é\n' + "".join(f"{' ' * i}if x:\n" for i in range(0, indent, 4))
    body = f"{decorator}\n{FUNCTION}".replace("\n", "\n" + blanks).rstrip(" ")
    mode = black.Mode(line_length=length)
    text = black.format_str(head + blanks + body, mode=mode)
    result, findings = run(text.replace("\n", eol).encode(), style=BlackStyle(line_length=length))
    assert result.decode().count(eol) == result.decode().count("\n")
    after = result.decode().replace(eol, "\n")
    assert "develop=True" in after and [f.code for f in findings] == ["TL701"]
    assert black.format_str(after, mode=mode) == after
    (op,) = read(result)
    assert op.develop and op.fc_name in decorator + "f"


@pytest.mark.parametrize("spoiled", ["x = [1,2]\n", "# fmt: off\n"])
def test_a_file_that_black_does_not_lay_out_gets_the_flag_alone(spoiled: str) -> None:
    decorator = f'@compile_ops("{LONG}", fc_name="short_name_only")'
    result, _ = run(f"{spoiled}\n\n{decorator}\n{FUNCTION}".encode())
    assert result.decode() == f"{spoiled}\n\n{decorator[:-1]}, develop=True)\n{FUNCTION}"


def test_other_encodings() -> None:
    text = f'# coding: latin-1\n\n\n@compile_ops("{LONG}", fc_name="né")  # é\n{FUNCTION}'
    result, _ = run(text.encode("latin-1"))
    assert result.decode("latin-1") == text.replace('fc_name="né")  # é', 'fc_name="né", develop=True)  # é').replace(
        f'@compile_ops("{LONG}", fc_name="né", develop=True)  # é',
        f'@compile_ops(\n    "{LONG}", fc_name="né", develop=True\n)  # é',
    )


def test_several_ops_of_one_file() -> None:
    data = "".join(f'@compile_ops("m", fc_name="g{i}")\ndef f{i}(x: Tensor): ...\n' for i in range(3)).encode()
    result, findings = run(data)
    assert result.count(b", develop=True)") == 3 and len(findings) == 3
    assert [f.start for f in findings] == sorted(f.start for f in findings)


@pytest.mark.parametrize(
    "definition",
    [
        '@compile_ops("m", develop=True)\ndef f(x: Tensor): ...\n',
        '@compile_ops("m", ffi_type="ctypes")\ndef f(x: Tensor): ...\n',
        '@compile_ops("m")\ndef f(n: int, s: str | None = None) -> int: ...\n',
        '@compile_ops("m")\ndef f(): ...\n',
    ],
)
def test_ops_that_need_nothing(definition: str) -> None:
    assert run(definition.encode()) == (definition.encode(), [])


def test_what_the_cxx_function_takes_decides_with_the_annotations() -> None:
    (op,) = read(b'@compile_ops("m")\ndef f(n: int) -> int: ...\n')
    assert not flips(op) and not flips(op, Bound(False, False)) and flips(op, Bound(True, False))
    assert flips(read(b'@compile_ops("m")\ndef f(x: list[Tensor]): ...\n')[0])


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("Tensor", Kind.TENSOR),
        ("torch.Tensor", Kind.TENSOR),
        ('"Tensor"', Kind.TENSOR),
        ('"Optional[torch.Tensor]"', Kind.TENSOR),
        ("Optional[Tensor]", Kind.TENSOR),
        ("typing.Optional[Tensor]", Kind.TENSOR),
        ("Tensor | None", Kind.TENSOR),
        ("None | Tensor", Kind.TENSOR),
        ("Union[Tensor, None]", Kind.TENSOR),
        ("Annotated[Tensor, 'w']", Kind.TENSOR),
        ("Union[Tensor, int]", Kind.OTHER),
        ("int", Kind.PLAIN),
        ("Optional[float]", Kind.PLAIN),
        ("list[int]", Kind.PLAIN),
        ("List[int] | None", Kind.PLAIN),
        ("Tuple[int, ...]", Kind.PLAIN),
        ("list[Tensor]", Kind.TENSOR_LIST),
        ("Optional[List[torch.Tensor]]", Kind.TENSOR_LIST),
        ("tuple[Tensor, int]", Kind.TENSOR_LIST),
        ("list[list[Tensor]]", Kind.TENSOR_LIST),
        ("torch.Generator | None", Kind.GENERATOR),
        ("torch.dtype", Kind.DTYPE),
        ("None", Kind.NONE),
        ("", Kind.MISSING),
        ("Any", Kind.OTHER),
        ("dict[str, Tensor]", Kind.OTHER),
        ("TensorLike", Kind.OTHER),
        ("list", Kind.OTHER),
        ("(", Kind.OTHER),
        ("'('", Kind.OTHER),
        ("3", Kind.OTHER),
    ],
)
def test_annotation_kinds(annotation: str, kind: Kind) -> None:
    assert annotation_kind(annotation) is kind


@pytest.mark.parametrize(
    ("signature", "codes"),
    [
        ("x: Tensor, n: int = 1, s: str = 'a', v: list[int] = [], b: bool | None = None", []),
        ("x: Tensor, xs: List[Tensor]", ["TL291"]),
        ("x: Tensor, g: Optional[Generator] = None", ["TL491"]),
        ("x: Tensor, d: torch.dtype", ["TL297"]),
        ("x: Tensor, y", ["TL790"]),
        ("x: Tensor, m: SomeEnum, g: Generator, d: dtype", ["TL790", "TL491", "TL297"]),
        ("x: Tensor, *rest: int", ["TL790"]),
    ],
)
def test_parameters_that_keep_an_op_from_flipping(signature: str, codes: list[str]) -> None:
    data = f'@compile_ops("m")\ndef f({signature}) -> None: ...\n'.encode()
    result, findings = run(data)
    assert [f.code for f in findings if f.blocks] == codes
    assert (result == data) == bool(codes)
    assert all(f.help and "f" in f.message and not f.edits for f in findings if f.blocks)


def test_a_returned_tensor_blocks_only_when_cxx_returns_it() -> None:
    data = b'@compile_ops("m")\ndef f(x: Tensor) -> Tensor: ...\n'
    (op,) = read(data)
    assert [f.code for f in op_blockers(op)] == ["TL290"]
    assert [f.code for f in op_blockers(op, Bound(True, True))] == ["TL290"]
    assert op_blockers(op, Bound(True, False)) == []
    after, _ = run(data, {op: Bound(True, False)})
    assert b"develop=True" in after
    unannotated = read(b'@compile_ops("m")\ndef f(x: Tensor): ...\n')[0]
    assert [f.code for f in op_blockers(unannotated, Bound(True, True))] == ["TL290"]


@pytest.mark.parametrize(
    "decorator",
    [
        'compile_ops("m", **options)',
        "compile_ops(*names)",
        'compile_ops("m", develop=FLAG)',
        'compile_ops("m", ffi_type=X)',
    ],
)
def test_a_decorator_that_only_run_time_knows_blocks(decorator: str) -> None:
    data = f"@{decorator}\n{FUNCTION}".encode()
    ops, _ = ops_of(parse_python("ops.py", data))
    (finding,) = develop_flags(ops, lambda path: SourceFile(path, data), {}, BlackStyle())
    assert (finding.code, finding.blocks, finding.edits) == ("TL790", True, ())


def test_a_file_that_changed_meanwhile_is_not_edited() -> None:
    ops = read(f'@compile_ops("m")\n{FUNCTION}'.encode())
    for data in (b"def (", b"x = 1\n"):
        (finding,) = develop_flags(ops, lambda path, data=data: SourceFile(path, data), {}, BlackStyle())
        assert (finding.code, finding.blocks, finding.edits) == ("TL790", True, ())


@pytest.mark.parametrize(
    ("toml", "style"),
    [
        ("[tool.black]\nline-length = 100\nskip-magic-trailing-comma = true\n", BlackStyle(100, True, False)),
        (
            "[tool.black]\nline_length = 79\nskip-string-normalization = true\ntarget-version = ['py310', 'py999']\n",
            BlackStyle(79, False, True, False, ("py310", "py999")),
        ),
        ("[tool.ruff]\nline-length = 100\n", BlackStyle()),
        ("[tool]\nblack = 3\n", BlackStyle()),
        ("[tool.black]\nline-length = 'long'\n", BlackStyle()),
        ("not toml", BlackStyle()),
    ],
)
def test_style_comes_from_pyproject(tmp_path: Path, toml: str, style: BlackStyle) -> None:
    assert read_style(tmp_path) == BlackStyle()
    (tmp_path / "pyproject.toml").write_text(toml)
    assert read_style(tmp_path) == style
    assert lay_out_decorator('@compile_ops("m")', "", style) == '@compile_ops("m")'


def test_no_layout_for_what_black_would_not_write() -> None:
    assert lay_out_decorator("@compile_ops(", "", BlackStyle()) is None
    assert lay_out_decorator('@compile_ops("m")', "\t", BlackStyle()) is None
    assert lay_out_decorator('@compile_ops("m")', "  ", BlackStyle()) is None

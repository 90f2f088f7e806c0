"""The Python side of a function whose results moved to Python: a private op, and the public function around it.

The op of old becomes the public function: its name, signature, defaults, comments and docstring stay where they are,
and its body calls the private op and returns what the C++ function returned. Where the op could be traced, the public
function is registered under the old name with the old fake, and the private op is not registered at all, so that a
call goes through the dispatcher once, as before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from torchless.hoisting import helpers
from torchless.model import Edit, Finding, Related
from torchless.project.model import PyOp
from torchless.project.ops import PyFile, decorator_argument, decorator_call, parse_python
from torchless.rewrites.python_layout import BlackStyle, is_laid_out, lay_out
from torchless.text.source import SourceFile

CODE = "TL720"
GUARD_FILE = "jit/utils/torch_guard.py"  # of the package
GUARD = "torch_compile_guard"
UNREGISTERED = "NONE_WRAPPED_OP"  # names in this list of the guard's file are no custom ops
BY_HAND = "MANUAL_SCHEMA_OPS"  # of those in this one it makes the schema itself, torch would refuse them


class NotSplit(ValueError):
    """Why an op cannot become a function around a private op. One line, for people."""


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What a public function does around its private op.

    ``arguments`` are expressions in the public function's parameters, one for each parameter of the private op, whose
    names and annotations are ``parameters``. ``before`` are statements ahead of the call, ``result`` the expression
    that is returned ("" for none), ``imports`` the modules that they name, ``helpers`` what they call of
    hoisting/helpers.py. The first ``outputs`` arguments are no parameters of the public function, and neither are
    ``scratch`` others, which stand last where the op has a function that says how to build it. ``otherwise`` is the
    expression that does the work where the op answers that it did not, or where one of the ``tensors`` of the public
    function has a dtype that C++ refuses. ``queries``: names and integer parameters of further ops that it calls.
    ``advances``: it reads and advances a generator. ``value``: the annotation of what the private op itself gives back,
    and the public one after it ("" for nothing). ``assumed``: what has to hold for its values to be those of C++.
    """

    arguments: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    result: str
    before: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    outputs: int = 0
    scratch: int = 0
    otherwise: str = ""
    tensors: tuple[str, ...] = ()
    queries: tuple[tuple[str, tuple[str, ...]], ...] = ()
    advances: bool = False
    assumed: tuple[str, ...] = ()
    value: str = ""


@dataclass(frozen=True)
class Guard:
    """The file that registers ops, where the package has one; the names in its lists UNREGISTERED and BY_HAND.

    ``has_numbers``: the package has a function NUMBER.
    """

    file: PyFile | None = None
    unregistered: frozenset[str] = field(default_factory=frozenset)
    by_hand: frozenset[str] = field(default_factory=frozenset)
    has_numbers: bool = False


def find_guard(path: str, read: Callable[[str], SourceFile]) -> Guard:
    """The guard of the package that the Python file ``path`` lies in."""
    for folder in PurePosixPath(path).parents:
        candidate = str(folder / GUARD_FILE)
        try:
            file = parse_python(candidate, read(candidate).data)
        except (OSError, ValueError):
            continue
        return Guard(file, _names(file, UNREGISTERED), _names(file, BY_HAND), _has_numbers(path, read))
    return Guard(has_numbers=_has_numbers(path, read))


def _has_numbers(path: str, read: Callable[[str], SourceFile]) -> bool:
    for folder in PurePosixPath(path).parents:
        try:
            return f"def {NUMBER}(".encode() in read(str(folder / _DTYPES_FILE)).data
        except OSError:
            continue
    return False


def _names(file: PyFile, name: str) -> frozenset[str]:
    found = _list(file, name)
    return frozenset(_strings(found)) if found is not None else frozenset()


def _list(file: PyFile, name: str) -> ast.List | None:
    for node in file.tree.body:
        names = [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []
        if name in names and isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            return node.value
    return None


def _strings(node: ast.List) -> list[str]:
    return [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]


@dataclass(frozen=True)
class Surroundings:
    """What a new function has to fit in with: the guard, and the names that are ``taken`` by ops of other files."""

    guard: Guard = field(default_factory=Guard)
    taken: Collection[str] = ()


def split_op(file: PyFile, op: PyOp, wrapping: Wrapping, style: BlackStyle, around: Surroundings) -> Finding:
    """TL720 for ``op`` of ``file``, with its edits.

    Raises NotSplit where the op is written in a way that this does not read.
    """
    function = _function(file, op)
    call = decorator_call(file, op)
    raw = _private_name(file, op, around.taken)
    fake = decorator_argument(call, "gen_fake")
    was_registered = around.guard.file is not None and op.function not in around.guard.unregistered
    gives_nothing = op.returns.strip() == "None"  # then a stub is a fake by itself
    registered = was_registered and (op.has_gen_fake or gives_nothing)
    head = [_queries(file, call, wrapping, style) + _private_op(file, op, call, raw, wrapping, style)]
    if registered:
        first = op.params[0].annotation if op.params else ""
        device = "" if first.rpartition(".")[2] == "Tensor" else 'device="cuda", '
        text = file.text(fake) if op.has_gen_fake else "lambda *args, **kwargs: None"
        decorator = f"@{GUARD}({device}gen_fake={text})"
        head.append(lay_out(f"{decorator}\ndef f(): ...\n", style).removesuffix("def f(): ...\n"))
    edits = [_decorator_edit(file, op, function, head), _body_edit(file, function, raw, wrapping, style)]
    edits = _as_black(file, op, function, edits, style)
    modules = sorted({*wrapping.imports, *(["torch"] if wrapping.advances or wrapping.otherwise else [])})
    edits += _imports(file, [GUARD] if registered else [], modules, around.guard)
    edits += _helpers(file, wrapping)
    if registered or op.function in around.guard.unregistered:
        edits += _listed(around.guard, [*(name for name, _ in wrapping.queries), raw])
    elif op.function in around.guard.by_hand and _is_list(wrapping.value):
        # torch has no schema for it, and the one that the guard makes knows no optional numbers
        edits += _listed(around.guard, [raw])
    message = f"{op.function} does what C++ does not do any more: it is a function around the op {raw}"
    if was_registered and not registered:
        message += f"; torch.ops.aiter.{op.function}, which had no fake, is gone"
    assumed = tuple(Related(op.path, 0, f"{op.function} takes it that {text}") for text in wrapping.assumed)
    return Finding(CODE, message, op.path, op.start, op.end, edits=tuple(edits), related=assumed)


def _function(file: PyFile, op: PyOp) -> ast.FunctionDef:
    """The function of ``op``, when it is a plain stub at the top level of its file."""
    for node in file.tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name != op.function:
            continue
        if not any(file.span(d)[1] == op.end for d in node.decorator_list):
            continue
        if len(node.decorator_list) > 1:
            raise NotSplit("it has another decorator")
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            raise NotSplit("its parameters are not plain")
        if len(_statements(node)) > 1:
            raise NotSplit("it has a body of its own")
        return node
    raise NotSplit("it is not at the top level of its file")


def _statements(node: ast.FunctionDef) -> list[ast.stmt]:
    """The body without the docstring."""
    body = node.body
    has_doc = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    has_doc = has_doc and isinstance(body[0].value.value, str)  # type: ignore[attr-defined]
    rest = body[1:] if has_doc else body
    for statement in rest:
        value = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(statement, ast.Pass) and not (isinstance(value, ast.Constant) and value.value is ...):
            raise NotSplit("it has a body of its own")
    return rest


def _private_name(file: PyFile, op: PyOp, taken: Collection[str]) -> str:
    """A free name for the private op: ``_f``, else ``_f_kernel``."""
    text = {node.id for node in ast.walk(file.tree) if isinstance(node, ast.Name)}
    text |= {n.name for n in ast.walk(file.tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    bare = op.function.lstrip("_")
    names = [f"_{bare}", f"_{bare}_kernel"] if bare == op.function else [f"{op.function}_kernel"]
    for name in names:
        if name not in text and name not in taken:
            return name
    raise NotSplit(f"{' and '.join(names)} exist already")


def _queries(file: PyFile, call: ast.Call, wrapping: Wrapping, style: BlackStyle) -> str:
    """The text of the ops that tell sizes, laid out, each with two blank lines behind it."""
    assert isinstance(call.func, (ast.Name, ast.Attribute))
    known = {node.name for node in ast.walk(file.tree) if isinstance(node, ast.FunctionDef)}
    out = ""
    for name, parameters in wrapping.queries:
        if name in known:
            raise NotSplit(f"its file has a {name} already")
        listed = ", ".join(f"{parameter}: int" for parameter in parameters)
        module = file.text(decorator_argument(call, "_md_name"))
        text = f"@{file.text(call.func)}({module})\ndef {name}({listed}) -> int: ...\n"
        out += lay_out(text, style) + "\n\n"
    return out


def _private_op(file: PyFile, op: PyOp, call: ast.Call, raw: str, wrapping: Wrapping, style: BlackStyle) -> str:
    """The text of the private op, decorator and all, laid out."""
    arguments = [file.text(decorator_argument(call, "_md_name")), f'fc_name="{op.fc_name}"']
    build = decorator_argument(call, "gen_func")
    if op.has_gen_func and build is not None:
        arguments.append(f"gen_func={_builder(file.text(build), wrapping)}")
    arguments.append("develop=True")
    parameters = ", ".join(f"{name}: {annotation}" for name, annotation in wrapping.parameters)
    assert isinstance(call.func, (ast.Name, ast.Attribute))
    result = "bool" if wrapping.otherwise else wrapping.value or "None"
    text = f"@{file.text(call.func)}({', '.join(arguments)})\ndef {raw}({parameters}) -> {result}: ...\n"
    return lay_out(text, style)


def _builder(text: str, wrapping: Wrapping) -> str:
    """What tells how to build the op, given the arguments that it knows."""
    if not wrapping.outputs and not wrapping.scratch:
        return text
    end = f"-{wrapping.scratch}" if wrapping.scratch else ""
    return f"lambda *args: {text}(*args[{wrapping.outputs or ''}:{end}])"


def _decorator_edit(file: PyFile, op: PyOp, function: ast.FunctionDef, head: Sequence[str]) -> Edit:
    """The private op, and the guard's decorator if any, in place of the op's decorator."""
    start = file.offset(function.lineno, 0)
    between = file.data[op.end : start]
    new = head[0].rstrip("\n") + "\n\n\n" + "".join(head[1:])
    end = start if not between.strip() else op.end
    if end == op.end:
        new = new.rstrip("\n") if head[1:] else new.removesuffix("\n")
    return Edit(file.path, op.start, end, on_disk(file, new), CODE)


def _body_edit(file: PyFile, function: ast.FunctionDef, raw: str, wrapping: Wrapping, style: BlackStyle) -> Edit:
    lines = [line for statement in wrapping.before for line in statement.split("\n")]
    call = f"{raw}({', '.join(wrapping.arguments)})"
    if wrapping.otherwise:
        instead = [f"return {wrapping.otherwise}"] if wrapping.result else [wrapping.otherwise, "return"]
        taken = f"if not {CONVERTS}({', '.join(wrapping.tensors)}):"
        lines = [taken, *(f"    {line}" for line in instead), *lines, f"if not {call}:", f"    {instead[0]}"]
    else:
        lines.append(f"return {call}" if wrapping.value else call)
    if wrapping.result:
        lines.append(f"return {wrapping.result}")
    text = "def f():\n" + "".join(f"    {line}\n" for line in lines)
    body = lay_out(text, style).removeprefix("def f():\n").rstrip("\n")
    rest = _statements(function)
    if not rest:
        end = file.span(function.body[-1])[1]
        return Edit(file.path, end, end, on_disk(file, "\n\n" + body), CODE)
    start, end = file.span(rest[0])
    line_start = file.offset(rest[0].lineno, 0)
    if not file.data[line_start:start].strip():
        return Edit(file.path, line_start, end, on_disk(file, body), CODE)
    start = len(file.data[:start].rstrip())
    return Edit(file.path, start, end, on_disk(file, "\n" + body), CODE)


def _as_black(file: PyFile, op: PyOp, function: ast.FunctionDef, edits: list[Edit], style: BlackStyle) -> list[Edit]:
    """``edits``, or one edit over the whole function where black would lay the result out in another way."""
    text = file.data.decode(file.encoding).removeprefix("\ufeff").replace("\r\n", "\n")
    if not is_laid_out(text, style):
        return edits
    start, end = op.start, file.span(function)[1]
    pieces: list[bytes] = []
    done = start
    for edit in sorted(edits):
        pieces += [file.data[done : edit.start], edit.new]
        done = max(edit.end, done)
    region = b"".join([*pieces, file.data[done:end]]).decode(file.encoding).replace("\r\n", "\n") + "\n"
    wanted = lay_out(region, style)
    if wanted == region:
        return edits
    return [Edit(file.path, start, end, on_disk(file, wanted.rstrip("\n")), CODE)]


def on_disk(file: PyFile, text: str) -> bytes:
    r"""``text`` (lines ended by \n) as the file writes it."""
    crlf = b"\r\n" in file.data
    return (text.replace("\n", "\r\n") if crlf else text).encode(file.encoding)


def _imports(file: PyFile, guard: Sequence[str], modules: Sequence[str], known: Guard) -> list[Edit]:
    out: list[Edit] = []
    bound = {alias.asname or alias.name for node in file.tree.body for alias in getattr(node, "names", ())}
    for name in guard:
        if name not in bound:
            out.append(_import_of_guard(file, known))
    for module in modules:
        if module not in bound:
            if module == NUMBER and not known.has_numbers:
                raise NotSplit(f"its package has no {NUMBER}, which tells the target's number of a dtype")
            out.append(_import_of_dtypes(file, module) if module in _UTILITIES else _import_of_module(file, module))
    return out


NUMBER = "_aiter_dtype_id"  # a function of the target's: the number of a torch.dtype
_DTYPES_FILE = "utility/dtypes.py"  # of the package
_UTILITIES = {"dtypes": "utility", NUMBER: "utility.dtypes"}


def _import_of_dtypes(file: PyFile, name: str) -> Edit:
    """``from ..utility import dtypes`` and its kin: the target's own, beside the import of the decorator."""
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("jit.core"):
            root = (node.module or "").removesuffix("jit.core")
            line = f"from {'.' * node.level}{root}{_UTILITIES[name]} import {name}\n"
            end = file.data.find(b"\n", file.span(node)[1]) + 1 or len(file.data)
            return Edit(file.path, end, end, on_disk(file, line), CODE)
    raise NotSplit("its file does not import the decorator in a way that tells where dtypes are")


CONVERTS = "_has_target_dtype"
_CONVERTS_SOURCE = f'''\
def {CONVERTS}(*tensors: torch.Tensor | None) -> bool:
    """Whether C++ takes the tensors: its tensor has no truth values, double precision or complex numbers."""
    refused = (torch.bool, torch.float64, torch.complex64, torch.complex128)
    return all(t is None or t.dtype not in refused for t in tensors)
'''


ADVANCES = "_philox_seed_offset"
_ADVANCES_SOURCE = f'''\
def {ADVANCES}(
    tensor: torch.Tensor, generator: torch.Generator | None, increment: int
) -> tuple[int, int]:
    """Seed and offset for a launch that counts ``increment`` on; the generator goes on behind it.

    A graph that is captured keeps the two numbers of its capture.
    """
    if generator is None:
        generator = torch.cuda.default_generators[tensor.device.index]
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + (increment + 3) // 4 * 4)
    return seed - (seed >> 63 << 64), offset
'''


def _helpers(file: PyFile, wrapping: Wrapping) -> list[Edit]:
    """The helpers that the file has not got yet, behind its imports."""
    known = {node.name for node in file.tree.body if isinstance(node, ast.FunctionDef)}
    imports = [n for n in file.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    wanted = {helpers.function_name(name): helpers.SOURCES[name] for name in wrapping.helpers}
    if wrapping.otherwise:
        wanted[CONVERTS] = _CONVERTS_SOURCE
    if wrapping.advances:
        wanted[ADVANCES] = _ADVANCES_SOURCE
    missing = sorted(wanted.keys() - known)
    if missing and not imports:
        raise NotSplit("its file has no import behind which a helper could stand")
    order = sorted([*(helpers.function_name(name) for name in helpers.SOURCES), CONVERTS, ADVANCES])
    out = []
    for name in missing:
        end = file.data.find(b"\n", file.span(imports[-1])[1]) + 1 or len(file.data)
        text = f"\n\n{wanted[name].rstrip()}\n"
        if name == missing[-1]:  # what follows stands two lines below a function
            follows = file.data[end:].replace(b"\r\n", b"\n")
            text += "\n" * max(0, 2 - (len(follows) - len(follows.lstrip(b"\n"))))
        out.append(Edit(file.path, end, end, on_disk(file, text), CODE, order.index(name) + 10))
    return out


def _import_of_guard(file: PyFile, guard: Guard) -> Edit:
    """``from ..jit.utils.torch_guard import torch_compile_guard`` among the relative imports, in their order."""
    assert guard.file is not None
    package = PurePosixPath(guard.file.path).parents[2]
    below = len(PurePosixPath(file.path).parent.relative_to(package).parts)
    module = GUARD_FILE.removesuffix(".py").replace("/", ".")
    froms = [n for n in file.tree.body if isinstance(n, ast.ImportFrom)]
    alike = [n for n in froms if n.level == below + 1]
    before = [n for n in alike if (n.module or "") < module]
    absolute = [n for n in froms if n.level == 0 and (n.module or "").startswith(f"{package.name}.jit")]
    if not alike and absolute:
        line, after = f"from {package.name}.{module} import {GUARD}", absolute[-1]
    else:
        line = f"from {'.' * (below + 1)}{module} import {GUARD}"
        anchors = before or alike or froms
        if not anchors:
            raise NotSplit("its file has no import that one more could stand beside")
        after = anchors[-1]
        if not before and alike:
            start = file.offset(alike[0].lineno, 0)
            return Edit(file.path, start, start, on_disk(file, line + "\n"), CODE)
    end = file.span(after)[1]
    end = file.data.find(b"\n", end) + 1 or len(file.data)
    return Edit(file.path, end, end, on_disk(file, line + "\n"), CODE)


def _import_of_module(file: PyFile, module: str) -> Edit:
    """``import module`` where such imports stand: before the first ``from module import``, else behind the others."""
    line = on_disk(file, f"import {module}\n")
    body = file.tree.body
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == module:
            start = file.offset(node.lineno, 0)
            return Edit(file.path, start, start, line, CODE)
    relative = next((n for n in body if isinstance(n, ast.ImportFrom) and n.level > 0), None)
    absolute = [n for n in body if isinstance(n, ast.Import) or (isinstance(n, ast.ImportFrom) and n.level == 0)]
    if relative is not None:
        start = file.offset(relative.lineno, 0)
        return Edit(file.path, start, start, line + on_disk(file, "\n"), CODE)
    if not absolute:
        raise NotSplit("its file has no import that one more could stand beside")
    end = file.data.find(b"\n", file.span(absolute[-1])[1]) + 1 or len(file.data)
    return Edit(file.path, end, end, on_disk(file, "\n") + line, CODE)


def _is_list(annotation: str) -> bool:
    return re.match(r"(?:typing\.)?[lL]ist\b", annotation) is not None


def _listed(guard: Guard, ops: Sequence[str]) -> list[Edit]:
    """``ops`` in the list of names that are no custom ops, on lines of their own before the list ends."""
    assert guard.file is not None
    file = guard.file
    names = _list(file, UNREGISTERED)
    new = [op for op in ops if op not in guard.unregistered]
    if names is None or not new:
        return []
    end = file.span(names)[1] - 1
    line_start = file.data.rfind(b"\n", 0, end) + 1
    if file.data[line_start:end].strip() or not file.data[:line_start].rstrip().endswith((b",", b"[")):
        return []  # registered as well, then: it works, and costs one more pass through the dispatcher
    text = "".join(f'    "{op}",\n' for op in new)
    return [Edit(file.path, line_start, line_start, on_disk(file, text), CODE)]

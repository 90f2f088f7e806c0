"""The modules of a checkout: the JIT configuration, read as data.

Most values of ``aiter/jit/optCompilerConfig.json`` are Python expressions in strings, which the JIT evaluates. Here
they are parsed and only a small subset is interpreted: literals, f-strings over the directory names below, ``+``, and
``os.environ.get(NAME, DEFAULT)``, which is taken as its default. Any other expression is kept as text and reported.
"""

from __future__ import annotations

import ast
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from torchless.facts.model import TuSpec
from torchless.project.model import Module, Project

SOURCE_SUFFIXES = (".cu", ".cpp")  # what the JIT compiles; it ignores any other entry of srcs
VENDORED = frozenset({"3rdparty", "third_party"})  # folders of other people's code
Problem = tuple[str, str]

_OUTSIDE = "lies outside of the checkout"


class _NotInterpreted(ValueError):
    """The expression is not of the subset that is read."""


def directory_names(root: Path) -> dict[str, str]:
    """The directory names that configuration expressions use, as root-relative paths.

    A checkout keeps its C++ in ``csrc``; an installed wheel keeps it in ``aiter_meta/csrc`` next to the package.
    """
    meta = "." if (root / "csrc").is_dir() or not (root / "aiter_meta/csrc").is_dir() else "aiter_meta"
    below = {
        "AITER_META_DIR": ".",
        "AITER_CSRC_DIR": "csrc",
        "AITER_GRADLIB_DIR": "gradlib",
        "AITER_ASM_DIR": "hsa",
        "CK_DIR": "3rdparty/composable_kernel",
        "CK_3RDPARTY_DIR": "3rdparty/composable_kernel",
        "CK_HELPER_DIR": "3rdparty/ck_helper",
        "HIP_KITTENS_DIR": "3rdparty/HipKittens",
    }
    names = {name: posixpath.normpath(posixpath.join(meta, path)) for name, path in below.items()}
    return {"AITER_ROOT_DIR": ".", "this_dir": "aiter/jit", **names}


def interpret(expression: str, names: Mapping[str, str]) -> object:
    """The value of a configuration expression. Raises ValueError for whatever is not of the subset."""
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body, names)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise _NotInterpreted(expression) from error


def _value(node: ast.expr, names: Mapping[str, str]) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.JoinedStr):
        return "".join(str(_value(part, names)) for part in node.values)
    if isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None:
        return _value(node.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _value(node.left, names), _value(node.right, names)
        if isinstance(left, str) and isinstance(right, str):
            return left + right
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv") and len(node.args) == 2:
        return _value(node.args[1], names)
    raise _NotInterpreted(ast.unparse(node))


_JSON_TOKEN = re.compile(rb'"(?:\\.|[^"\\])*"|[\[\]{}:,]')


def entry_spans(data: bytes) -> list[tuple[str, int, int]]:
    """(key, start, end) of each entry of a JSON object: bytes from the key's opening quote to the value's last byte.

    ``data`` must be valid JSON with an object at the top.
    """
    spans: list[tuple[str, int, int]] = []
    depth = 0
    key: re.Match[bytes] | None = None
    waiting = True  # at depth 1, the next string is a key
    for token in _JSON_TOKEN.finditer(data):
        text = token.group()
        if depth == 1 and text in (b",", b"}") and key is not None:
            end = len(data[: token.start()].rstrip())
            spans.append((json.loads(key.group()), key.start(), end))
            key, waiting = None, True
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and waiting and text.startswith(b'"'):
            key, waiting = token, False
    return spans


def read_modules(root: Path, config_path: str) -> tuple[list[Module], list[Problem]]:
    """The modules that the configuration at ``root / config_path`` describes, in its order, and what went wrong.

    A configuration that cannot be read or is not a JSON object gives no modules and one problem.
    """
    try:
        data = (root / config_path).read_bytes()
        entries = json.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return [], [(config_path, f"cannot read the module configuration: {error}".splitlines()[0])]
    if not isinstance(entries, dict):
        return [], [(config_path, "the module configuration is not a JSON object")]
    problems: list[Problem] = []
    spans: dict[str, tuple[int, int]] = {}
    for name, start, end in entry_spans(data):
        if name in spans:
            problems.append((config_path, f"{name} is described twice; the last description counts"))
        spans[name] = (start, end)
    names = directory_names(root)
    modules = []
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            problems.append((config_path, f"{name}: the description is not a JSON object"))
            continue
        module, found = _module(root, name, entry, names, spans.get(name, (-1, -1)))
        modules.append(module)
        problems += [(config_path, f"{name}: {message}") for message in found]
    return modules, problems


def _module(
    root: Path, name: str, entry: Mapping[str, object], names: Mapping[str, str], span: tuple[int, int]
) -> tuple[Module, list[str]]:
    problems: list[str] = []
    unread: list[str] = []

    def strings(key: str) -> Iterator[str]:
        value = entry.get(key, [])
        for expression in value if isinstance(value, list) else [value]:
            text = expression if isinstance(expression, str) else json.dumps(expression)
            try:
                read = interpret(text, names)
            except ValueError:
                unread.append(text)
                if not key.startswith("flags") or re.search(r"-[DUI]|-include|-std", text):
                    problems.append(f"{key}: expression is not interpreted: {text}")
                continue
            if isinstance(read, str) and read:
                yield read

    sources: list[str] = []
    missing: list[str] = []
    for spelled in strings("srcs"):
        path = posixpath.normpath(spelled)
        if _escapes(path):
            problems.append(f"srcs: {spelled} {_OUTSIDE}")
        elif (root / path).is_dir():
            try:
                inside = sorted(p.name for p in (root / path).iterdir() if p.suffix in SOURCE_SUFFIXES and p.is_file())
            except OSError as error:
                problems.append(f"srcs: cannot list {path}: {error.strerror}")
                continue
            sources += [f"{path}/{file}" for file in inside]
        elif (root / path).is_file():
            if path.endswith(SOURCE_SUFFIXES):
                sources.append(path)
        else:
            missing.append(path)

    torch_free = _is_true(entry.get("torch_exclude", "False"))
    includes = [names["AITER_CSRC_DIR"] + "/include"]
    for spelled in strings("extra_include"):
        path = posixpath.normpath(spelled)
        if _escapes(path):
            problems.append(f"extra_include: {spelled} {_OUTSIDE}")
        else:
            includes.append(path)
    if not torch_free:
        includes.append(names["AITER_CSRC_DIR"] + "/include/torch")

    defines: dict[str, str] = {}
    for key in ("flags_extra_cc", "flags_extra_hip"):  # in the order of the command line: the last one wins
        for flag in strings(key):
            for define in re.findall(r"(?:^|\s)-D(\S+)", flag):
                defines[define.partition("=")[0]] = define
    enable_ck = defines.pop("ENABLE_CK", "ENABLE_CK=1") not in ("ENABLE_CK=0", "ENABLE_CK=false")
    generator = entry.get("blob_gen_cmd", "''")
    commands = generator if isinstance(generator, list) else [generator]
    module = Module(
        name=name,
        sources=tuple(dict.fromkeys(s for s in sources if VENDORED.isdisjoint(s.split("/")))),
        include_dirs=tuple(dict.fromkeys(d for d in includes if (root / d).is_dir())),
        enable_ck=enable_ck,
        defines=tuple(defines.values()),
        torch_exclude=torch_free,
        missing_sources=tuple(missing),
        generators=_scripts(root, commands, names),
        has_generator=any(str(command).strip("'\" ") for command in commands),
        entry_start=span[0],
        entry_end=span[1],
        unread=tuple(dict.fromkeys(unread)),
        vendored_sources=tuple(dict.fromkeys(s for s in sources if not VENDORED.isdisjoint(s.split("/")))),
    )
    return module, problems


_SCRIPT = re.compile(r"\{(\w+)\}([\w./+-]+\.py)\b")


def _scripts(root: Path, commands: Sequence[object], names: Mapping[str, str]) -> tuple[str, ...]:
    """The Python scripts of the checkout that generator commands name, as {DIRECTORY}/path.py in the command's text."""
    found = [
        posixpath.normpath(names[directory] + path)
        for command in commands
        for directory, path in _SCRIPT.findall(str(command))
        if directory in names
    ]
    return tuple(dict.fromkeys(path for path in found if not _escapes(path) and (root / path).is_file()))


def _escapes(path: str) -> bool:
    return path.startswith(("/", "../")) or path == ".." or "\0" in path


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.strip() == "True")


def tu_specs(
    module: Module,
    *,
    devices: Sequence[bool] = (False, True),
    enable_ck: Sequence[bool] | None = None,
    arch: str = "gfx942",
) -> list[TuSpec]:
    """How each source of ``module`` is parsed: one spec per source, pass and ENABLE_CK value, in that order.

    ``devices`` lists the passes (False host, True device); ``enable_ck`` the values to parse with, by default the one
    that the module is built with. Composable-kernel include folders are not part of a spec.
    """
    return [
        TuSpec(source, module.include_dirs, module.defines, ck, device, arch)
        for source in module.sources
        for device in devices
        for ck in ((module.enable_ck,) if enable_ck is None else enable_ck)
    ]


def modules_of(project: Project) -> dict[str, tuple[Module, ...]]:
    """Source path -> the modules that compile it, in the configuration's order. Sources in no module are absent."""
    owners: dict[str, tuple[Module, ...]] = {}
    for module in project.modules:
        for source in module.sources:
            owners[source] = (*owners.get(source, ()), module)
    return owners


def orphans(project: Project) -> list[str]:
    """The sources of the project that no module compiles, sorted."""
    owned: Iterable[str] = (source for module in project.modules for source in module.sources)
    return sorted(set(project.sources).difference(owned))

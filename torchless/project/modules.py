"""The modules of a checkout: the JIT configuration, read as data.

Most values of ``aiter/jit/optCompilerConfig.json`` are Python expressions in strings, which the JIT evaluates. Here
they are parsed and only a small subset is interpreted: literals, f-strings over the directory names below, ``+``, and
``os.environ.get(NAME, DEFAULT)``, which is taken as its default. Any other expression is kept as text and reported.
"""

from __future__ import annotations

import ast
import json
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchless.facts.spec import TuSpec
from torchless.index import Index
from torchless.project.model import Module, Project

SOURCE_SUFFIXES = (".cu", ".cpp")  # what the JIT compiles; it ignores any other entry of srcs
VENDORED = frozenset({"3rdparty", "third_party"})  # folders of other people's code
Problem = tuple[str, str]

_VERSION = 1  # of what is stored in an index for the same bytes
_EXPRESSIONS = ("srcs", "extra_include", "flags_extra_cc", "flags_extra_hip")  # what is interpreted of an entry
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


@dataclass(frozen=True, slots=True)
class _Config:
    """What the bytes of a configuration alone tell.

    ``spans`` are as from entry_spans(). ``read`` holds every expression of the entries that is of the subset, with its
    value where that is a string, else None.
    """

    entries: dict[str, Any]
    spans: list[tuple[str, int, int]]
    read: dict[str, str | None]


def read_modules(root: Path, config_path: str, index: Index | None = None) -> tuple[list[Module], list[Problem]]:
    """The modules that the configuration at ``root / config_path`` describes, in its order, and what went wrong.

    A configuration that cannot be read or is not a JSON object gives no modules and one problem.
    """
    names = directory_names(root)
    version = f"{_VERSION} {names['AITER_META_DIR']}"  # all other names follow from this one
    try:
        found = (index or Index(root)).get(config_path, "modules", version, lambda data: _scan(data, names))
    except OSError as error:
        return [], [(config_path, f"cannot read the module configuration: {error.strerror}")]
    except ValueError:  # more levels than can be stored; our own interpreter reads some thousand
        return [], [(config_path, "cannot read the module configuration: it is nested too deeply")]
    if isinstance(found, str):
        return [], [(config_path, found)]
    config = _Config(*found)
    problems: list[Problem] = []
    spans: dict[str, tuple[int, int]] = {}
    for name, start, end in config.spans:
        if name in spans:
            problems.append((config_path, f"{name} is described twice; the last description counts"))
        spans[name] = (start, end)
    kinds = _Kinds(root)
    modules = []
    for name, entry in config.entries.items():
        if not isinstance(entry, dict):
            problems.append((config_path, f"{name}: the description is not a JSON object"))
            continue
        module, wrong = _module(kinds, name, entry, names, config.read, spans.get(name, (-1, -1)))
        modules.append(module)
        problems += [(config_path, f"{name}: {message}") for message in wrong]
    return modules, problems


def _scan(data: bytes, names: Mapping[str, str]) -> tuple[Any, ...] | str:
    """The fields of a _Config, or why there is none."""
    try:
        entries = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return f"cannot read the module configuration: {error}".splitlines()[0]
    if not isinstance(entries, dict):
        return "the module configuration is not a JSON object"
    read: dict[str, str | None] = {}
    for entry in entries.values():
        for key in _EXPRESSIONS if isinstance(entry, dict) else ():
            for text in _texts(entry, key):
                with suppress(ValueError):
                    value = interpret(text, names)
                    read[text] = value if isinstance(value, str) else None
    return entries, entry_spans(data), read


def _texts(entry: Mapping[str, Any], key: str) -> list[str]:
    """The expressions under ``key`` of an entry, as text."""
    value = entry.get(key, [])
    listed = value if isinstance(value, list) else [value]
    return [expression if isinstance(expression, str) else json.dumps(expression) for expression in listed]


class _Kinds:
    """What lies at root-relative paths; each is looked at once."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self._known: dict[str, int] = {}

    def is_dir(self, path: str) -> bool:
        return stat.S_ISDIR(self._mode(path))

    def is_file(self, path: str) -> bool:
        return stat.S_ISREG(self._mode(path))

    def _mode(self, path: str) -> int:
        if path not in self._known:
            try:
                self._known[path] = os.stat(f"{self.root}/{path}").st_mode  # noqa: PTH116 - a thousand of these
            except (OSError, ValueError):
                self._known[path] = 0
        return self._known[path]


def _module(
    kinds: _Kinds,
    name: str,
    entry: Mapping[str, Any],
    names: Mapping[str, str],
    read: Mapping[str, str | None],
    span: tuple[int, int],
) -> tuple[Module, list[str]]:
    problems: list[str] = []
    unread: list[str] = []

    def strings(key: str) -> Iterator[str]:
        for text in _texts(entry, key):
            value = read.get(text)
            if value:
                yield value
            elif text not in read:
                unread.append(text)
                if not key.startswith("flags") or re.search(r"-[DUI]|-include|-std", text):
                    problems.append(f"{key}: expression is not interpreted: {text}")

    sources: list[str] = []
    missing: list[str] = []
    for spelled in strings("srcs"):
        path = posixpath.normpath(spelled)
        if _escapes(path):
            problems.append(f"srcs: {spelled} {_OUTSIDE}")
        elif kinds.is_dir(path):
            try:
                inside = sorted(p.name for p in Path(kinds.root, path).iterdir() if _is_source(p))
            except OSError as error:
                problems.append(f"srcs: cannot list {path}: {error.strerror}")
                continue
            sources += [f"{path}/{file}" for file in inside]
        elif kinds.is_file(path):
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
        include_dirs=tuple(dict.fromkeys(d for d in includes if kinds.is_dir(d))),
        enable_ck=enable_ck,
        defines=tuple(defines.values()),
        torch_exclude=torch_free,
        missing_sources=tuple(missing),
        generators=_scripts(kinds, commands, names),
        has_generator=any(str(command).strip("'\" ") for command in commands),
        entry_start=span[0],
        entry_end=span[1],
        unread=tuple(dict.fromkeys(unread)),
        vendored_sources=tuple(dict.fromkeys(s for s in sources if not VENDORED.isdisjoint(s.split("/")))),
    )
    return module, problems


_SCRIPT = re.compile(r"\{(\w+)\}([\w./+-]+\.py)\b")


def _scripts(kinds: _Kinds, commands: Sequence[object], names: Mapping[str, str]) -> tuple[str, ...]:
    """The Python scripts of the checkout that generator commands name, as {DIRECTORY}/path.py in the command's text."""
    found = [
        posixpath.normpath(names[directory] + path)
        for command in commands
        for directory, path in _SCRIPT.findall(str(command))
        if directory in names
    ]
    return tuple(dict.fromkeys(path for path in found if not _escapes(path) and kinds.is_file(path)))


def _is_source(path: Path) -> bool:
    return path.suffix in SOURCE_SUFFIXES and path.is_file()


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

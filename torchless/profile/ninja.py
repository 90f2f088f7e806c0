"""Reads the compile commands out of a build.ninja, and the seconds that they took out of ninja's log.

As much of the language as generators of build files write: variables, rules, build statements with their own
variables, and the escapes. What is not read is an error, since a command that is only half known measures nothing.
See https://ninja-build.org/manual.html#ref_ninja_file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from torchless.errors import ToolError

_SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".hip", ".c")
_REFERENCE = re.compile(r"\$(?:\{([\w.-]+)\}|([\w-]+)|([$ :]))")
_ASSIGNMENT = re.compile(r"([\w.-]+)\s*=\s*(.*)\Z")
_SKIPPED = frozenset({"default", "pool"})
_DEPTH = 50


class NinjaError(ToolError):
    """A build file or log that cannot be read; one line."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A build statement whose command compiles one source: the source and output as spelled, and the command."""

    source: str
    output: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logged:
    """A row of ninja's log: an output, and when its command ran, in seconds after the build started."""

    output: str
    started: float
    ended: float


def compile_edges(text: str, where: str) -> list[Edge]:
    """The statements of a build file that compile one source each, in its order. Raises NinjaError.

    ``where`` names the file in errors. Linking and other statements are left out.
    """
    top: dict[str, str] = {}
    rules: dict[str, dict[str, str]] = {}
    edges: list[Edge] = []
    for line, own in _blocks(text, where):
        keyword, _, rest = line.partition(" ")
        if keyword == "rule":
            rules[rest.strip()] = own
        elif keyword == "build":
            edge = _edge(rest, own, rules, top, where)
            if edge is not None:
                edges.append(edge)
        elif keyword in ("include", "subninja"):
            raise NinjaError(f"{where}: {keyword} is not read; name the file that it includes")
        elif keyword not in _SKIPPED:
            name, value = _assigned(line, where)
            top[name] = _expanded(value, top.get)
    return edges


def _blocks(text: str, where: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every statement with the variables below it, not expanded; lines that go on are put together."""
    joined = re.sub(r"(?<!\$)((?:\$\$)*)\$\r?\n[ ]*", r"\1", text)
    current: tuple[str, dict[str, str]] | None = None
    for line in joined.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] in " \t":
            if current is None:
                raise NinjaError(f"{where}: an indented line before any statement")
            name, value = _assigned(line.strip(), where)
            current[1][name] = value
            continue
        if current is not None:
            yield current
        current = (line.rstrip(), {})
    if current is not None:
        yield current


def _assigned(line: str, where: str) -> tuple[str, str]:
    found = _ASSIGNMENT.match(line)
    if found is None:
        raise NinjaError(f"{where}: not a statement of a build file: {line[:60]}")
    return found[1], found[2]


def _edge(
    rest: str, own: Mapping[str, str], rules: Mapping[str, Mapping[str, str]], top: Mapping[str, str], where: str
) -> Edge | None:
    outputs, colon, inputs = _parted(rest)
    words = _words(inputs)
    if not colon or not words:
        raise NinjaError(f"{where}: not a build statement: build {rest[:60]}")
    rule = rules.get(words[0])
    if rule is None or "command" not in rule:
        return None
    explicit = []
    for word in words[1:]:
        if word in ("|", "||", "|@"):
            break
        explicit.append(_expanded(word, top.get))
    made = [_expanded(word, top.get) for word in _words(outputs.partition(" |")[0])]
    if len(explicit) != 1 or not explicit[0].endswith(_SOURCES) or not made:
        return None
    local = {name: _expanded(value, top.get) for name, value in own.items()}
    local.update({"in": shlex.quote(explicit[0]), "out": " ".join(map(shlex.quote, made))})

    def look_up(name: str, depth: int = 0) -> str:
        if name in local:
            return local[name]
        if name in rule and depth < _DEPTH:
            return _expanded(rule[name], lambda inner: look_up(inner, depth + 1))
        return top.get(name, "")

    try:
        command = tuple(shlex.split(_expanded(rule["command"], look_up)))
    except ValueError as error:
        raise NinjaError(f"{where}: the command for {explicit[0]} cannot be split into words: {error}") from None
    return Edge(explicit[0], made[0], command)


def _parted(rest: str) -> tuple[str, str, str]:
    """A build statement at its first colon that is not escaped."""
    found = re.search(r"(?<!\$)(?:\$\$)*:", rest)
    return (rest[: found.end() - 1], ":", rest[found.end() :]) if found else (rest, "", "")


def _words(text: str) -> list[str]:
    """The words of a list of paths; a blank after a dollar is part of a word."""
    return re.findall(r"(?:\$.|[^\s$])+", text)


def _expanded(text: str, look_up: Callable[[str], str | None]) -> str:
    """``text`` with its variables and escapes replaced; what stands in a value is not looked at again."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return found[3] if name is None else look_up(name) or ""

    return _REFERENCE.sub(value, text)


def read_log(text: str, where: str) -> list[Logged]:
    """The rows of a ``.ninja_log``, the last one of each output, in the order in which they started.

    Raises NinjaError for a file that is no log, and for one without rows.
    """
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# ninja log v"):
        raise NinjaError(f"{where}: not a log of ninja's")
    rows: dict[str, Logged] = {}
    for line in lines[1:]:
        fields = line.split("\t")
        if len(fields) < 4:
            raise NinjaError(f"{where}: a row that cannot be read: {line[:60]}")
        try:
            rows[fields[3]] = Logged(fields[3], int(fields[0]) / 1000, int(fields[1]) / 1000)
        except ValueError:
            raise NinjaError(f"{where}: a row that cannot be read: {line[:60]}") from None
    if not rows:
        raise NinjaError(f"{where}: no row in it: nothing was built")
    return sorted(rows.values(), key=lambda row: (row.started, row.output))


def read_text(path: Path) -> str:
    """The text of a build file or log. Raises NinjaError."""
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise NinjaError(f"{path}: {error.strerror or error}") from None

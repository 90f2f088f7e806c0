"""Settings from ``[tool.torchless]`` of pyproject.toml or from torchless.toml, laid under the command line's flags.

The nearest file wins, searched from a folder upward to the root of the file system; in one folder torchless.toml wins.
Paths in a settings file are relative to that file. Every problem is one line that names the file and the key.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from torchless.errors import UsageError
from torchless.facts.arches import is_known
from torchless.options import CheckOptions, MigrateOptions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HEADERS = ("stubs", "system")
CHECKS = ("aiter", "throw")
OPUS_GUARD = ("auto", "root", "define")
Options = TypeVar("Options", MigrateOptions, CheckOptions)


class ConfigError(UsageError):
    """A settings file cannot be used; the message is one line that starts with the file."""


@dataclass(frozen=True)
class _Key:
    """What a key of the settings file may hold: kind is "flag", "count", "text", "texts", "path" or "paths"."""

    field: str
    kind: str
    choices: tuple[str, ...] = ()


KEYS: Mapping[str, _Key] = {
    "select": _Key("select", "texts"),
    "ignore": _Key("ignore", "texts"),
    "unsafe": _Key("unsafe", "flag"),
    "jobs": _Key("jobs", "count"),
    "cache": _Key("cache", "flag"),
    "headers": _Key("headers", "text", HEADERS),
    "include-dirs": _Key("include_dirs", "paths"),
    "defines": _Key("defines", "texts"),
    "arch": _Key("arch", "text"),
    "exclude": _Key("exclude", "texts"),
    "force-exclude": _Key("force_exclude", "flag"),
    "checks": _Key("checks", "text", CHECKS),
    "assume-target": _Key("assume_target", "flag"),
    "rules": _Key("rule_files", "paths"),
    "opus-guard": _Key("opus_guard", "text", OPUS_GUARD),
    "heavy": _Key("heavy", "texts"),
    "baseline": _Key("baseline", "path"),
}


@dataclass(frozen=True)
class Config:
    """The settings that were found: the file ("" when there is none) and values by field of the options."""

    file: str
    values: Mapping[str, Any]


def load_config(start: Path) -> Config:
    """Read the settings that apply to folder ``start``. Raises ConfigError."""
    for folder in (start, *start.parents):
        own = folder / "torchless.toml"
        if own.is_file():
            return _read(own, _parse(own))
        shared = folder / "pyproject.toml"
        if shared.is_file():
            tool = _parse(shared).get("tool", {})
            if isinstance(tool, dict) and "torchless" in tool:
                return _read(shared, tool["torchless"])
    return Config("", {})


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {_one_line(str(error))}") from error


def _read(path: Path, table: object) -> Config:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.torchless must be a table, not {_kind_of(table)}")
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = KEYS.get(name)
        if key is None:
            raise ConfigError(f"{path}: unknown key {name!r}{did_you_mean(name, KEYS)}")
        values[key.field] = _value(path, name, key, value)
    return Config(str(path), values)


def _value(path: Path, name: str, key: _Key, value: object) -> object:
    if key.kind == "flag" and isinstance(value, bool):
        return value
    if key.kind == "count" and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if key.kind == "text" and isinstance(value, str):
        if key.choices and value not in key.choices:
            raise ConfigError(f"{path}: {name} must be one of {', '.join(key.choices)}, not {value!r}")
        return value
    if key.kind == "path" and isinstance(value, str):
        return str(path.parent / value)
    if key.kind in ("texts", "paths") and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(str(path.parent / v) for v in value) if key.kind == "paths" else tuple(value)
    wanted = {
        "flag": "true or false",
        "count": "a whole number, 0 or more",
        "text": "a string",
        "path": "a string",
        "texts": "a list of strings",
        "paths": "a list of strings",
    }[key.kind]
    raise ConfigError(f"{path}: {name} must be {wanted}, not {_kind_of(value)}")


def _kind_of(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a table"}
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return "a list with something else in it"
    return names.get(type(value), "a date or a time")


def merge(config: Config, flags: Mapping[str, Any], defaults: Options) -> Options:
    """Lay flags over settings over ``defaults``. A flag that is None or () was not given.

    Settings that the kind of options does not know are for another command. Raises UsageError for values that no parser
    can use: a define that is none, an architecture that is none, a missing include folder or rule file.
    """
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    known = {field.name for field in fields(defaults)}
    settings = {name: value for name, value in config.values.items() if name in known}
    options = replace(defaults, **{**settings, **given})

    def refuse(field: str, message: str) -> UsageError:
        return UsageError(message if field in given else f"{config.file}: {message}")

    for define in options.defines:
        if not re.fullmatch(r"[A-Za-z_]\w*(=.*)?", define):
            raise refuse("defines", f"not a define: {define!r} (want NAME or NAME=VALUE)")
    if not is_known(options.arch):
        raise refuse("arch", f"not an architecture that the parser knows: {options.arch!r} (want one like gfx942)")
    for folder in options.include_dirs:
        if not Path(folder).is_dir():
            raise refuse("include_dirs", f"no such include folder: {folder}")
    for file in options.rule_files:
        if not Path(file).is_file():
            raise refuse("rule_files", f"no such rule file: {file}")
    return options


def split_codes(values: Iterable[str]) -> tuple[str, ...]:
    """The codes in lists such as ``TL2,TL301``, upper-cased."""
    return tuple(code.upper() for value in values for code in re.split(r"[,\s]+", value) if code)


def check_codes(codes: Iterable[str], known: Mapping[str, str]) -> None:
    """Raise UsageError for the first of ``codes`` that is no prefix of a known code (``known``: code to name)."""
    for code in codes:
        if re.fullmatch(r"TL\d*", code) and any(k.startswith(code) for k in known):
            continue
        by_name = {name.upper(): k for k, name in known.items()}
        if code in by_name:
            raise UsageError(f"unknown code {code.lower()!r}; that is the name of {by_name[code]}")
        raise UsageError(f"unknown code {code!r}{did_you_mean(code, known)}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"; did you mean a or b?"``, or "" when nothing is near."""
    near = difflib.get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""TL612: -mllvm flags of one module that override what the JIT gives to all, without a word why."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchless.lints.module_entries import Entry, entry_of
from torchless.lints.scan import FileScan, scans
from torchless.model import Finding, Related, Tier

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL612"
_CORE = "core.py"  # beside the configuration: build_module() puts the flags of every module together
_OWN = "flags_extra_hip"
_PER_SOURCE = "flags_extra_hip_per_source"
_FLAG_KEYS = ("flags_extra_cc", _OWN, _PER_SOURCE)
_FLAG = re.compile(rb"-mllvm[ \t]+-{1,2}([\w-]+)(?:=([^\s'\"\\,)]*))?")


def findings(context: Context) -> Iterator[Finding]:
    """One per flag, where it stands in the configuration."""
    config = context.project.config_path
    core = posixpath.join(posixpath.dirname(config), _CORE)
    found = scans(context, [core], _FLAGS_OF_ALL)
    common = {name: (value, flag, line) for _, rows in found for name, value, flag, line in rows}
    entries = (entry_of(context, module) for module in context.modules if common)
    for entry in (entry for entry in entries if entry is not None):
        for key in _FLAG_KEYS:
            start, end = entry.spans.get(key, (0, 0))
            for match in _FLAG.finditer(context.source(config).data, start, end):
                name = match[1].decode()
                value, rival, line = common.get(name, ("", "", 0))
                if not rival or value == _value(match[2]) or _is_recorded(entry, name):
                    continue
                flag = match[0].decode("utf-8", "replace")
                message = f"{entry.module.name} has {flag} against {rival} of every module, and nothing says what for"
                if not _wins(key, flag, rival):
                    message += f"; it has no effect, because {rival} comes behind it"
                advice = f"say in the entry what it is worth, in a text that names {name}, or take it out"
                related = (Related(core, line, f"{rival} is for every module"),)
                place = (config, match.start(), match.end())
                yield Finding(CODE, message, *place, Tier.DISPLAY, help=advice, related=related)


def _scan(data: bytes) -> tuple[tuple[str, str, str, int], ...]:
    """(option, value, flag as spelled, line) for the -mllvm flags that core.py spells out."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ()
    rows = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("-mllvm"):
            for flag in _FLAG.finditer(node.value.encode("utf-8", "replace")):
                rows.append((flag[1].decode(), _value(flag[2]), flag[0].decode("utf-8", "replace"), node.lineno))
    return tuple(rows)


_FLAGS_OF_ALL = FileScan(_CORE, 1, _scan)


def _value(text: bytes | None) -> str:
    """The value of an option; the spellings of true and false count as one each."""
    value = "true" if text is None else text.decode("utf-8", "replace")
    return {"1": "true", "0": "false"}.get(value, value.lower())


def _wins(key: str, flag: str, rival: str) -> bool:
    """Whether the module's flag stands behind the common one, so that the compiler takes it.

    build_module() sorts the flags for hipcc; those for all languages come before them, those of one source behind.
    """
    return key == _PER_SOURCE or (key == _OWN and flag > rival)


def _is_recorded(entry: Entry, name: str) -> bool:
    """Whether a text of the entry that is no flag, or a comment behind a flag, names the option and has a number."""
    notes = [text for key in entry.values if key not in _FLAG_KEYS for text in entry.texts(key)]
    notes += [text.partition("#")[2] for key in _FLAG_KEYS[:2] for text in entry.texts(key)]
    named = re.compile(rf"(?<![\w-])-*{re.escape(name)}(?![\w-])")
    return any(named.search(note) and re.search(r"\d", named.sub("", note)) for note in notes)

"""What lints found in an earlier run over the very same files, asked in the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from torchless.lints.context import Context
from torchless.model import Confidence, Edit, Finding, Related, Tier
from torchless.options import CheckOptions
from torchless.project.model import Project
from torchless.rules.catalogue import rules_dir

_VERSION = 3


def run_key(context: Context, options: CheckOptions) -> bytes:
    """A hash of all that a lint can look at: every file of the project, what was read of them, and the settings.

    Which rules are selected is no part of it: each lint is remembered by itself.
    """
    project = context.project
    digest = hashlib.sha256(repr(_in_order(project)).encode("utf-8", "surrogateescape"))
    scripts = {script for module in project.modules for script in module.generators}
    further = {project.config_path, f"{project.config_path.rpartition('/')[0]}/core.py", *scripts} - {""}
    for path in (*project.sources, *project.headers, *sorted(further), *sorted(context.python)):
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + _key_of(context, path))
    asked = [sorted(context.files), [module.name for module in context.modules]]
    settings = [options.arch, options.defines, options.include_dirs]
    heavy = [(rule.category, rule.headers, rule.together, rule.anywhere) for rule in context.heavy.rules]
    digest.update(repr((asked, settings, heavy)).encode("utf-8", "surrogateescape"))
    for table in _tables():
        digest.update(table.read_bytes())
    return digest.digest()


def _in_order(project: Project) -> list[object]:
    """The fields of a project, sets sorted: their own order is another in every process."""
    values = (getattr(project, field.name) for field in fields(project))
    return [sorted(value) if isinstance(value, frozenset) else value for value in values]


def recalled(context: Context, key: bytes, name: str, look: Callable[[], Iterable[Finding]]) -> tuple[Finding, ...]:
    """``look()``, or what it gave when ``key`` was the same; ``name`` is the lint's.

    Files that are no part of the project (a composable_kernel in 3rdparty) but were read on the way must be the same.
    """
    index = context.index
    note = index.note(f"findings {name}", _VERSION, key)
    if note is not None and all(_key_of(context, path) == content for path, content in note[1]):
        return tuple(_finding(row) for row in note[0])
    found = tuple(look())
    own = {*context.project.sources, *context.project.headers}
    beside = tuple(sorted((path, content) for path, content in index.seen().items() if path not in own))
    index.set_note(f"findings {name}", _VERSION, key, (tuple(_row(finding) for finding in found), beside))
    return found


def _key_of(context: Context, path: str) -> bytes:
    try:
        return context.index.key(path)
    except OSError:
        return b""


def _tables() -> list[Path]:
    folder = rules_dir()
    return [*sorted(folder.glob("*.toml")), *sorted((folder / "headers").iterdir())]


def _row(f: Finding) -> tuple[Any, ...]:
    edits = tuple((e.path, e.start, e.end, e.new, e.code, e.rank) for e in f.edits)
    related = tuple((r.path, r.line, r.message) for r in f.related)
    kind = (f.tier.value, f.confidence.value, f.blocks, f.help, f.requires, f.unit)
    return (f.code, f.message, f.path, f.start, f.end, kind, edits, related, f.line, f.column)


def _finding(row: tuple[Any, ...]) -> Finding:
    code, message, path, start, end, kind, edits, related, line, column = row
    tier, confidence, blocks, advice, requires, unit = kind
    return Finding(
        code,
        message,
        path,
        start,
        end,
        Tier(tier),
        tuple(Edit(*edit) for edit in edits),
        Confidence(confidence),
        blocks,
        advice,
        requires,
        unit,
        line,
        column,
        tuple(Related(*step) for step in related),
    )

"""Findings of the include lints that an earlier run made over the very same files and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from torchless.lints.context import Context
from torchless.model import Edit, Finding, Related, Tier
from torchless.rules.catalogue import rules_dir

_VERSION = 1


def recalled(context: Context, code: str, look: Callable[[Context], Iterable[Finding]]) -> list[Finding]:
    """``look(context)``, or what it gave when every file of the project and all that was asked were the same.

    ``code`` names the lint. Its findings may depend on files of the project, on what the units read, and on the tables
    of the rule files, on nothing else.
    """
    key = context.shared("everything", lambda: _key(context))
    rows = context.index.note(f"findings {code}", _VERSION, key)
    if rows is not None:
        return [_finding(row) for row in rows]
    found = list(look(context))
    context.index.set_note(f"findings {code}", _VERSION, key, [_row(finding) for finding in found])
    return found


def _key(context: Context) -> bytes:
    """A hash of all that a lint can look at."""
    project = context.project
    digest = hashlib.sha256()
    scripts = {script for module in project.modules for script in module.generators}
    further = {project.config_path, f"{project.config_path.rpartition('/')[0]}/core.py", *scripts} - {""}
    for path in (*project.sources, *project.headers, *sorted(further)):
        try:
            content = context.index.key(path)
        except OSError:
            content = b""
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + content)
    digest.update(repr((sorted(context.files), [module.name for module in context.modules])).encode())
    for source in context.unit_sources():
        for closure in context.closures_of(source):
            spec = closure.spec
            digest.update(
                repr((source, spec.include_dirs, spec.defines, spec.enable_ck, spec.device, spec.arch)).encode()
            )
    for rule in context.heavy.rules:
        digest.update(repr((rule.category, rule.headers, rule.together, rule.anywhere)).encode())
    for table in _tables():
        digest.update(table.read_bytes())
    return digest.digest()


def _tables() -> list[Path]:
    folder = rules_dir()
    return [folder / "includes.toml", *sorted((folder / "headers").iterdir())]


def _row(finding: Finding) -> tuple[Any, ...]:
    edits = tuple((e.path, e.start, e.end, e.new, e.code, e.rank) for e in finding.edits)
    related = tuple((r.path, r.line, r.message) for r in finding.related)
    place = (finding.code, finding.message, finding.path, finding.start, finding.end)
    return (*place, finding.tier.value, edits, finding.help, related)


def _finding(row: tuple[Any, ...]) -> Finding:
    code, message, path, start, end, tier, edits, advice, related = row
    return Finding(
        code,
        message,
        path,
        start,
        end,
        Tier(tier),
        tuple(Edit(*edit) for edit in edits),
        help=advice,
        related=tuple(Related(*step) for step in related),
    )

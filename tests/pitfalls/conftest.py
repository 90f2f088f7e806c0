"""Small checkouts, made of the bundled example and a few more files, that go through the whole engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from torchless import cli
from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.model import Finding, Unit, UnitStatus
from torchless.text import writer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mini-aiter"
FIXTURES = ROOT / "tests" / "fixtures" / "pitfalls"


@dataclass(frozen=True)
class Ran:
    """A checkout, what the engine said of it, and every file before and after its changes were written."""

    root: Path
    result: MigrateResult = field(repr=False)
    before: Mapping[str, bytes] = field(repr=False)
    after: Mapping[str, bytes] = field(repr=False)

    def unit(self, path: str) -> Unit:
        """The one unit with a finding in ``path``."""
        (unit,) = [u for u in self.result.units if path in {f.path for f in u.findings}]
        return unit

    def status(self, path: str) -> UnitStatus:
        return self.unit(path).status

    def findings(self, path: str, code: str) -> list[Finding]:
        """What was found in ``path`` under ``code``, in a unit or in none."""
        everything = [*self.result.findings, *(f for u in self.result.units for f in u.findings)]
        return [f for f in everything if (f.path, f.code) == (path, code)]

    def blockers(self, path: str) -> set[str]:
        """The codes that block the unit of ``path``."""
        return {f.code for f in self.unit(path).findings if f.blocks}

    @property
    def changed(self) -> set[str]:
        return {p for p in self.before.keys() | self.after.keys() if self.before.get(p) != self.after.get(p)}


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below ``root`` but the journal's, links included, by relative path."""
    files = (path for path in root.rglob("*") if path.is_file() and ".torchless" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def look(root: Path, **options: object) -> MigrateResult:
    """What migrate() says of the checkout; ``options`` are those of MigrateOptions."""
    values = {"paths": ("csrc",), "jobs": 1, **options}
    return migrate(MigrateOptions(**values), root, lambda stage, done, total: None)  # type: ignore[arg-type]


def run(root: Path, **options: object) -> Ran:
    """Migrate and write, and see that a second run has nothing to add."""
    before = snapshot(root)
    result = look(root, **options)
    if result.changes:
        writer.write_files(root, result.changes)
    after = snapshot(root)
    again = look(root, **options)
    assert not again.changes, f"a second run changes {sorted(again.changes)}"
    return Ran(root, result, before, after)


def add(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files`` (by root-relative path) into the checkout."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def add_module(root: Path, name: str, *sources: str) -> None:
    """Have the JIT configuration build ``sources`` (relative to csrc) as module ``name``."""
    path = root / "aiter/jit/optCompilerConfig.json"
    modules = json.loads(path.read_text())
    modules[name] = {**modules["module_scale"], "srcs": [f"f'{{AITER_CSRC_DIR}}/{source}'" for source in sources]}
    path.write_text(json.dumps(modules, indent=4))


Command = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command line in this process, in folder ``cwd``: exit code, stdout, stderr."""

    def go(*arguments: str, cwd: Path) -> tuple[int, bytes, str]:
        monkeypatch.chdir(cwd)
        capfdbinary.readouterr()
        code = cli.main(arguments)
        captured = capfdbinary.readouterr()
        return code, captured.out, captured.err.decode()

    return go

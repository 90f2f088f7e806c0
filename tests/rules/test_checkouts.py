"""The examples that need a whole checkout, through the real engine: facts, units, rules, rewrites, check."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from torchless.api import MigrateOptions, migrate
from torchless.rules.load import load_rules
from torchless.rules.model import Example, Rule

MINI = Path(__file__).resolve().parents[2] / "examples" / "mini-aiter"
MODULE = "module_example"
# Two rules that both rewrite c10::nullopt in a binding: TL204 the namespace, TL703 the whole default.
PENDING: dict[str, pytest.MarkDecorator] = {}
CASES = [
    pytest.param(
        rule,
        example,
        id=f"{rule.code}-{number}",
        marks=[mark] if (mark := PENDING.get(f"{rule.code}-{number}")) else [],
    )
    for rule in load_rules().rules
    for number, example in enumerate(rule.examples, 1)
    if example.lang == "checkout" and not rule.lint
]


def lay_out(root: Path, example: Example) -> None:
    """A checkout with the target's headers, one module that holds the example's sources, and the example's files."""
    shutil.copytree(MINI / "aiter" / "jit", root / "aiter" / "jit")
    for header in (MINI / "csrc" / "include").glob("aiter_*.h"):
        (root / "csrc" / "include").mkdir(parents=True, exist_ok=True)
        shutil.copy(header, root / "csrc" / "include")
    shutil.copy(MINI / "csrc" / "include" / "rocm_ops.hpp", root / "csrc" / "include")
    for name in ("aiter/__init__.py", "aiter/ops/__init__.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    sources = [f"f'{{AITER_CSRC_DIR}}/{path.removeprefix('csrc/')}'" for path in example.before if path.endswith(".cu")]
    module = {"srcs": sources, "flags_extra_cc": [], "flags_extra_hip": [], "extra_ldflags": "None"}
    module |= {"extra_include": [], "verbose": "False", "blob_gen_cmd": "''"}
    (root / "aiter" / "jit" / "optCompilerConfig.json").write_text(json.dumps({MODULE: module}))
    for path, text in example.before.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_example(rule: Rule, example: Example, tmp_path: Path) -> None:
    lay_out(tmp_path, example)
    select = tuple(r.code for r in load_rules().rules if r.opt_in and r.rewrite == rule.rewrite) if rule.opt_in else ()
    options = MigrateOptions(paths=("csrc",), select=select, unsafe=example.unsafe, jobs=1, assume_target=True)
    result = migrate(options, tmp_path, lambda stage, done, total: None)
    texts = {path: change.new.decode() for path, change in result.changes.items()}
    assert {path: texts.get(path, text) for path, text in example.before.items()} == dict(example.after)
    assert set(texts) <= set(example.before)
    codes = {f.code for unit in result.units for f in unit.findings} | {f.code for f in result.findings}
    assert set(example.finds) <= codes
    assert example.keeps or rule.code in codes

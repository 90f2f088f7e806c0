"""Locals that removed statements used go with them, but not what a macro spells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_checkouts import lay_out

from torchless.api import MigrateOptions, migrate
from torchless.rules.load import load_rules

SOURCE = "csrc/kernels/draw.cu"
LOCAL = b"offsets_per_call = 4;"


@pytest.mark.parametrize(("macro", "stays"), [("", False), ("#define CALLS (offsets_per_call * 2)\n", True)])
def test_a_number_that_a_macro_spells_stays(macro: str, stays: bool, tmp_path: Path) -> None:
    examples = [e for rule in load_rules().rules for e in rule.examples if LOCAL.decode() in e.before.get(SOURCE, "")]
    example = examples[0]
    text = example.before[SOURCE].replace(
        "    draw_kernel<<<", f"    {macro and 'if(CALLS > 9) return;'}\n    draw_kernel<<<"
    )
    lay_out(tmp_path, replace(example, before={**example.before, SOURCE: macro + text}))
    options = MigrateOptions(paths=("csrc",), unsafe=True, jobs=1)
    result = migrate(options, tmp_path, lambda stage, done, total: None)
    assert (LOCAL in result.changes[SOURCE].new) == stays

"""migrate() with optional rewrites: only when they are selected, checked like the rest, and beside it in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torchless.api import MigrateOptions, MigrateResult, UsageError, migrate
from torchless.model import UnitStatus
from torchless.text.writer import write_files

TUNE = """#include <functional>
#include <unordered_map>

int small(int n);
int large(int n);

using Kernel = std::function<int(int)>;
using KernelMap = std::unordered_map<int, Kernel>;

Kernel dispatch(int id)
{
    static const KernelMap lookup = {{7, large}, {2, small}};
    auto it = lookup.find(id);
    return it != lookup.end() ? it->second : lookup.find(2)->second;
}
"""
SOURCE = "csrc/kernels/tune.cu"


@dataclass
class Tree:
    root: Path

    def add(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run(self, *select: str, paths: tuple[str, ...] = (".",), **options: Any) -> MigrateResult:
        wanted = MigrateOptions(paths=paths, select=select, jobs=1, **options)
        return migrate(wanted, self.root, lambda stage, done, total: None)

    def write(self, result: MigrateResult) -> None:
        write_files(self.root, result.changes)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A plain folder without any header of the target."""
    made = Tree(tmp_path)
    (tmp_path / ".git").mkdir()
    made.add(SOURCE, TUNE)
    return made


def statuses(result: MigrateResult) -> dict[str, str]:
    return {unit.name: unit.status.value for unit in result.units}


def found(result: MigrateResult) -> set[str]:
    return {f.code for u in result.units for f in u.findings} | {f.code for f in result.findings}


UNIT = f"{SOURCE}:KernelMap"


def test_only_what_is_selected_is_made(mini_aiter: Path) -> None:
    tree = Tree(mini_aiter)
    tree.add(SOURCE, TUNE)
    usual = tree.run()
    assert SOURCE not in usual.changes and UNIT not in statuses(usual)
    assert not any(code.startswith(("TL51", "TL52")) for code in found(usual))
    for select in (("TL51",), ("TL5",), ("TL510", "TL511")):
        asked = tree.run(*select)
        assert statuses(asked) == {UNIT: "migrated"}
        assert set(asked.changes) == {SOURCE}
        assert found(asked) == {"TL510", "TL511"}


def test_it_runs_where_the_target_is_missing_and_twice_is_once(tree: Tree) -> None:
    with pytest.raises(UsageError, match="nothing to migrate to"):
        tree.run()
    result = tree.run("TL51")
    assert result.mergeable and statuses(result) == {UNIT: "migrated"}
    assert result.found == "1 unit in 0 modules"
    tree.write(result)
    again = tree.run("TL51", offer_all=True)
    assert (again.units, again.changes, again.findings) == ((), {}, ())


def test_half_of_the_selection_is_no_half_of_a_unit(tree: Tree) -> None:
    result = tree.run("TL510")
    assert statuses(result) == {UNIT: "blocked"}
    assert not result.changes
    result = tree.run("TL51", ignore=("TL511",))
    (unit,) = result.units
    assert [f.code for f in unit.findings if f.blocks] == ["TL511"]
    assert "left alone on request" in next(f.message for f in unit.findings if f.blocks)


def test_a_comment_leaves_it_alone(tree: Tree) -> None:
    text = TUNE.replace("using KernelMap =", "// torchless: ignore[TL510] it will go\nusing KernelMap =")
    tree.add(SOURCE, text)
    (unit,) = tree.run("TL51").units
    assert unit.status is UnitStatus.BLOCKED
    assert any("it will go" in f.message for f in unit.findings)


def test_the_paths_say_which(tree: Tree) -> None:
    other = "csrc/other/tune.cu"
    tree.add(other, TUNE)
    assert set(statuses(tree.run("TL51"))) == {UNIT, f"{other}:KernelMap"}
    assert set(statuses(tree.run("TL51", paths=("csrc/other",)))) == {f"{other}:KernelMap"}
    assert set(statuses(tree.run("TL51", paths=(SOURCE,)))) == {UNIT}


def test_what_does_not_compile_is_backed_out(tree: Tree) -> None:
    """A wider number among the parts of a tuple is converted; among those of a struct it is an error."""
    text = TUNE.replace("unordered_map<int, Kernel>", "unordered_map<std::tuple<int, int>, Kernel, Hash>")
    text = text.replace("{{7, large}, {2, small}}", "{{{7, 1}, large}, {{2, 1}, small}}")
    text = text.replace("find(id)", "find({id, width})").replace("find(2)", "find({2, 1})")
    text = text.replace(
        "using KernelMap",
        "struct Hash { template <typename T> size_t operator()(const T&) const { return 0; } };\nusing KernelMap",
    )
    fits = text.replace("int id)", "int id, int width)")
    tree.add(SOURCE, fits)
    assert statuses(tree.run("TL51")) == {UNIT: "migrated"}
    tree.add(SOURCE, text.replace("int id)", "int id, long width)"))
    result = tree.run("TL51")
    assert statuses(result) == {UNIT: "backed out"}
    assert not result.changes
    assert any(f.code == "TL008" and "narrow" in f.message for u in result.units for f in u.findings)


def test_small_gains_are_told_and_offered_on_request(tree: Tree) -> None:
    tree.add(SOURCE, TUNE.replace("std::function<int(int)>", "int (*)(int)"))
    result = tree.run("TL51")
    assert (result.units, result.changes) == ((), {})
    (remark,) = result.findings
    assert remark.code == "TL515" and "--all" in remark.message and remark.line == 8
    assert not tree.run("TL51", ignore=("TL515",)).findings
    assert statuses(tree.run("TL51", offer_all=True)) == {UNIT: "migrated"}


TORCH = """#include <torch/extension.h>
#include <functional>
#include <unordered_map>

void small(torch::Tensor& out, int n);
void large(torch::Tensor& out, int n);

using Kernel = std::function<void(torch::Tensor&,
                                  int)>;
using KernelMap = std::unordered_map<int, Kernel>;

static Kernel choose(int id)
{
    static const auto lookup = [] { return KernelMap{{1, small}, {0, large}}; }();
    TORCH_CHECK(lookup.find(id) != lookup.end(), "no kernel ", id);
    return lookup.find(id)->second;
}

void small(torch::Tensor& out, int n) { TORCH_CHECK(out.size(0) == n); }
void large(torch::Tensor& out, int n) { TORCH_CHECK(out.size(0) == n); }
void run(torch::Tensor& out, int n, int id) { choose(id)(out, n); }
"""


def test_it_goes_with_the_torch_job_in_one_run(mini_aiter: Path) -> None:
    tree = Tree(mini_aiter)
    tree.add(SOURCE, TORCH)
    everything = tree.run("TL", paths=(SOURCE,))
    assert set(statuses(everything).values()) == {"migrated"} and len(everything.units) == 2
    new = everything.changes[SOURCE].new.decode()
    assert "torch" not in new and "std::function" not in new and "unordered_map<" not in new
    assert "using Kernel = void (*)(aiter_tensor_t&,\n                        int);\n" in new
    tree.write(everything)
    again = tree.run("TL", paths=(SOURCE,))
    assert not again.changes and set(statuses(again).values()) <= {"clean"}
    # one after the other gives the same
    tree.add(SOURCE, TORCH)
    tree.write(tree.run("TL51", "TL52", paths=(SOURCE,)))
    tree.write(tree.run(paths=(SOURCE,)))
    assert (mini_aiter / SOURCE).read_text() == new


def test_a_blocked_torch_unit_blocks_no_table(mini_aiter: Path) -> None:
    tree = Tree(mini_aiter)
    tree.add(SOURCE, TORCH.replace("choose(id)(out, n); }", "choose(id)(out, n); out.add_(1); }"))
    result = tree.run("TL", paths=(SOURCE,))
    assert sorted(statuses(result).values()) == ["blocked", "migrated"]
    new = result.changes[SOURCE].new.decode()
    assert "#include <torch/extension.h>" in new and "using Kernel = void (*)(torch::Tensor&,\n" in new
    assert not any(f.code == "TL101" for u in result.units if u.name == UNIT for f in u.findings)

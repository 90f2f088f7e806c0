"""``torchless rules`` and ``torchless explain``: the list of rules, and the page of one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import click

from torchless import config
from torchless.cli.output import emit
from torchless.errors import UsageError
from torchless.exitcodes import NOTHING_LEFT
from torchless.rules import docs
from torchless.rules.load import load_rules


def rule_names(rule_files: tuple[str, ...]) -> Mapping[str, str]:
    """Code -> name of every rule, those of ``rule_files`` included. Raises RuleError."""
    return {rule.code: rule.name for rule in load_rules(rule_files).rules}


@click.command()
@click.argument("code")
@click.option("--rules", "rule_files", multiple=True, metavar="FILE", help="Know rules of your own, too.")
def explain(code: str, rule_files: tuple[str, ...]) -> int:
    """Print the page of rule CODE: what it does, why, how safe its fix is, before and after."""
    names = rule_names(rule_files)
    if code.upper() not in names:
        config.check_codes([code.upper()], names)
        raise UsageError(f"{code.upper()} stands for several rules: `torchless rules` lists them")
    emit(docs.explain(code.upper(), rule_files).encode())
    return NOTHING_LEFT


@click.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="What stdout holds.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--rules", "rule_files", multiple=True, metavar="FILE", help="Also list rules of your own.")
def rules(output_format: str, color: str, rule_files: tuple[str, ...]) -> int:
    """List all rules: code, name, tier, what it does."""
    listed = load_rules(rule_files).rules
    if output_format == "json":
        rows = [{"code": r.code, "name": r.name, "tier": r.tier.value, "summary": r.summary} for r in listed]
        emit(f"{json.dumps(rows, indent=1)}\n".encode())
        return NOTHING_LEFT
    from rich.table import Table  # here: no other command that loads rules draws one
    from rich.text import Text

    from torchless.report.terminal import make_page, page_text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("code", "name", "tier"):
        table.add_column(title, no_wrap=True)
    table.add_column("what it does")
    for rule in listed:
        table.add_row(rule.code, rule.name, "blocker" if rule.blocks else rule.tier.value, Text(rule.summary))
    page = make_page(color, sys.stdout)
    page.print(table)
    emit(page_text(page).encode())
    return NOTHING_LEFT

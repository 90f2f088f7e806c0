"""The page of a rule, made from its section in the rule file: for `torchless explain` and for docs/rules/.

``make docs`` writes the pages anew.
"""

from __future__ import annotations

from pathlib import Path

from torchless.model import Tier
from torchless.rules.load import load_rules
from torchless.rules.model import Example, Rule, RuleError

_FENCES = {"cpp": "cpp", "python": "python"}
_TIERS = {
    Tier.SAFE: "safe: applied",
    Tier.UNSAFE: "unsafe: applied with --unsafe only",
    Tier.DISPLAY: "display: shown, never applied",
}


def explain(code: str, rule_files: tuple[str, ...] = ()) -> str:
    """The page of the rule with ``code`` as Markdown, which reads well in a terminal. Raises RuleError."""
    rule = load_rules(rule_files).rule(code)
    if rule is None:
        raise RuleError(f"there is no rule {code}")
    return page(rule)


def page(rule: Rule) -> str:
    """The Markdown page of ``rule``; ends with a newline."""
    parts = [f"# {rule.code} {rule.name}", _sentence(rule.summary), f"*{_kind(rule)}*"]
    parts += ["## What it does", rule.what, "## Why", rule.why]
    parts += [f"## Why it is {_tier_word(rule)}", rule.tier_reason]
    if rule.safety:
        parts += ["## Safety of the edit", rule.safety]
    if rule.help:
        parts += ["## What a person does", _sentence(rule.help)]
    changed = [e for e in rule.examples if not e.keeps]
    kept = [e for e in rule.examples if e.keeps]
    if changed:
        parts += ["## Examples", *(block for e in changed for block in _change(e))]
    if kept:
        parts += ["## What stays", *(block for e in kept for block in _stay(e))]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def index(rules: tuple[Rule, ...]) -> str:
    """The Markdown table of all rules, with links to their pages."""
    rows = [f"| [{r.code}]({r.code}.md) | {r.name} | {_tier_word(r)} | {r.summary} |" for r in rules]
    head = (
        "# Rules\n\nMade from `rules/aiter/*.toml`; do not edit.\n\n| code | name | tier | what |\n|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def pages(rules: tuple[Rule, ...]) -> dict[str, str]:
    """File name -> text of everything in docs/rules/."""
    return {"index.md": index(rules), **{f"{rule.code}.md": page(rule) for rule in rules}}


def write_pages(folder: Path) -> list[Path]:
    """Write the rules' pages into ``folder`` and remove those of rules that are gone; gives the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages(load_rules().rules)
    for stale in folder.glob("*.md"):
        if stale.name not in wanted:
            stale.unlink()
    out = []
    for name, text in sorted(wanted.items()):
        path = folder / name
        path.write_text(text, "utf-8")
        out.append(path)
    return out


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", ":")) else ".")


def _kind(rule: Rule) -> str:
    asked = f" Only on request: `--select {rule.code[:4]}`." if rule.opt_in else ""
    if rule.blocks:
        return f"Blocker: the unit is not migrated.{asked}"
    return f"Tier {_TIERS[rule.tier]}.{asked}"


def _tier_word(rule: Rule) -> str:
    return "a blocker" if rule.blocks else rule.tier.value


def _change(example: Example) -> list[str]:
    out = [_caption(example)] if _caption(example) else []
    for path in example.before:
        if example.before[path] == example.after.get(path):
            continue
        if path:
            out.append(f"`{path}`")
        out += [_fence(example, path, example.before[path]), "becomes", _fence(example, path, example.after[path])]
    return out


def _stay(example: Example) -> list[str]:
    out = [_caption(example)] if _caption(example) else []
    for path, text in example.before.items():
        if path:
            out.append(f"`{path}`")
        out.append(_fence(example, path, text))
    if example.finds:
        out.append(f"Reported: {', '.join(example.finds)}.")
    return out


def _caption(example: Example) -> str:
    given = f"Given {_listed([_given(g) for g in example.given])}." if example.given else ""
    unsafe = "With `--unsafe`." if example.unsafe else ""
    return " ".join(part for part in (example.note, given, unsafe) if part)


def _given(text: str) -> str:
    if ":" in text and "=" not in text:
        name, _, kind = text.partition(":")
        word = kind.strip().replace("_", " ")
        article = "an" if word[:1] in "aeiou" else "a"
        return f"`{name.strip()}` is {article} {word}"
    name, _, meaning = text.partition("=")
    return f"`{name.strip()}` means `{meaning.strip()}`"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _fence(example: Example, path: str, text: str) -> str:
    language = _FENCES.get(example.lang) or ("python" if path.endswith(".py") else "cpp")
    return f"```{language}\n{text.strip(chr(10))}\n```"

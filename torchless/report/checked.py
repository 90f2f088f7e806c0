"""What every printer of a check gets, and the figures that they share: exit code, counts, the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torchless.exitcodes import FAILED, NOTHING_LEFT, SOMETHING_LEFT
from torchless.model import CheckResult, Finding, Related, Tier
from torchless.report.color import Paint
from torchless.report.wording import plural
from torchless.text.source import SourceFile


@dataclass(frozen=True)
class Checked:
    """A result, the names of the rules by code, and ``source``, which gives the text of a file.

    ``baseline`` names the file whose findings are known, "" for none; ``exit_code`` is what the run ends with;
    ``mend`` is the command that mends what can be mended, less its --select.
    """

    result: CheckResult
    names: Mapping[str, str]
    source: Callable[[str], SourceFile]
    exit_code: int
    baseline: str = ""
    mend: str = "torchless migrate"

    def name(self, code: str) -> str:
        """The name of the rule, "" for a code without one."""
        return self.names.get(code, "")


@dataclass(frozen=True, slots=True)
class Count:
    """How many findings a code has: new ones, of these mended at once or with --unsafe, and known ones."""

    code: str
    new: int
    safe: int
    unsafe: int
    known: int


def exit_code(result: CheckResult, exit_zero: bool) -> int:
    """2 when a file could not be read (nothing can be said about it), else 1 when there is a finding that is new.

    ``exit_zero`` makes that 1 a 0.
    """
    if result.files_failed:
        return FAILED
    return SOMETHING_LEFT if result.findings and not exit_zero else NOTHING_LEFT


def reader(root: Path) -> Callable[[str], SourceFile]:
    """Reads files below ``root``, each once."""

    @cache
    def source(path: str) -> SourceFile:
        try:
            return SourceFile(path, (root / path).read_bytes())
        except OSError:
            return SourceFile(path, b"")

    return source


def is_safe(finding: Finding) -> bool:
    """Whether `torchless migrate` mends it."""
    return bool(finding.edits) and finding.tier is Tier.SAFE


def is_unsafe(finding: Finding) -> bool:
    """Whether `torchless migrate --unsafe` mends it."""
    return bool(finding.edits) and finding.tier is Tier.UNSAFE


def mark(finding: Finding) -> str:
    """``[*]`` for what `torchless migrate` mends, ``[!]`` for what it mends with --unsafe, else ""."""
    return "[*]" if is_safe(finding) else "[!]" if is_unsafe(finding) else ""


def led_by(step: Related) -> str:
    """The word before a place that explains a finding: a step of an include chain, or something else to look at."""
    return "via" if step.message.startswith("includes ") else "see"


def counts(result: CheckResult) -> tuple[Count, ...]:
    """The counts of every code that was found: the most frequent first, then by code."""
    new = Counter(f.code for f in result.findings)
    safe = Counter(f.code for f in result.findings if is_safe(f))
    unsafe = Counter(f.code for f in result.findings if is_unsafe(f))
    known = Counter(f.code for f in result.known)
    rows = [Count(code, new[code], safe[code], unsafe[code], known[code]) for code in {*new, *known}]
    return tuple(sorted(rows, key=lambda row: (-row.new, -row.known, row.code)))


def summary(checked: Checked, paint: Paint) -> tuple[str, ...]:
    """What to tell a person at the end, a line each."""
    result = checked.result
    looked = f"{plural(result.files, 'file')} and {plural(result.units, 'translation unit')} in {result.seconds:.1f} s"
    if not result.findings:
        lines = [paint(f"No {'new ' if checked.baseline else ''}finding.", "bold") + f" Looked at {looked}."]
    else:
        found = plural(len(result.findings), "new finding" if checked.baseline else "finding")
        files = plural(len({f.path for f in result.findings}), "file")
        lines = [paint(f"Found {found} in {files}.", "bold") + f" Looked at {looked}."]
        lines.append(", ".join(_kinds(checked, paint)) + ".")
    if checked.baseline:
        gone = f"{plural(result.gone, 'entry', 'entries')} {'is' if result.gone == 1 else 'are'} gone"
        more = f"; {gone}: run --write-baseline" if result.gone else ""
        lines.append(f"{plural(len(result.known), 'finding')} known from {checked.baseline}{more}.")
    if result.untouched:
        lines.append(f"{plural(result.untouched, 'finding')} outside of the change.")
    if result.suppressed:
        lines.append(f"{plural(result.suppressed, 'finding')} suppressed by comments.")
    lines += [f"note: {note}" for note in result.notes]
    return tuple(lines)


def _kinds(checked: Checked, paint: Paint) -> Iterable[str]:
    findings = checked.result.findings
    safe = [f for f in findings if is_safe(f)]
    unsafe = [f for f in findings if is_unsafe(f)]
    if safe:
        codes = ",".join(sorted({f.code for f in safe}))
        command = paint(f"`{checked.mend} --select {codes} --write`", "bold")
        yield f"{paint('[*]', 'mark')} {len(safe):,} can be mended with {command}"
    if unsafe and safe:
        codes = ",".join(sorted({f.code for f in unsafe}))
        yield f"{paint('[!]', 'mark')} {len(unsafe):,} more ({codes}) with --unsafe"
    elif unsafe:
        codes = ",".join(sorted({f.code for f in unsafe}))
        command = paint(f"`{checked.mend} --select {codes} --unsafe --write`", "bold")
        yield f"{paint('[!]', 'mark')} {len(unsafe):,} can be mended with {command}"
    left = len(findings) - len(safe) - len(unsafe)
    if left:
        yield f"{left:,} {'needs' if left == 1 else 'need'} a person"

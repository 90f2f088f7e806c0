"""What follows from the figures: which rewrite would help a unit, or that none of torchless's can.

Nothing is advised that the figures do not carry; where only the front end was measured, that is said, since the device
pass of a kernel spends its time behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchless.profile.model import FRONT_END, TORCH, PassProfile, Profile, UnitProfile
from torchless.profile.walls import schedule, seconds_of, unit_seconds

BOUND = 0.6
"""A unit is bound by the side that takes this share of its seconds: with the other side gone, more than half stays."""
WORTH = 0.25
"""Headers are worth a rewrite when this share of a pass's lines is read below them: less drowns in a build's noise."""
TABLES = 0.1
"""The same for instantiating std::function, as a share of the front end: a table is a small edit."""
IDLE = 0.1
"""The same for the device pass of a source that only registers functions: a guard is one line."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One sentence about a unit (or a module, with an empty source).

    bound: ``host``, ``device``, ``both``, or "" for what is no statement about a bound. codes: the rules that would
    help. helps: whether torchless can.
    """

    module: str
    source: str
    bound: str
    text: str
    codes: tuple[str, ...] = ()
    helps: bool = False


def thresholds() -> tuple[str, ...]:
    """What the thresholds mean, for people."""
    return (
        f"bound: one side, host or device, takes {BOUND:.0%} or more of the unit's seconds",
        f"headers count from {WORTH:.0%} of a pass's lines on, read below them (inclusive)",
        f"tables of std::function count from {TABLES:.0%} of the host's front end on",
        f"the device pass of a registering source counts from {IDLE:.0%} of its seconds on",
    )


def diagnose(profile: Profile) -> list[Diagnosis]:
    """What the figures say of each unit, in its order, and then of each module."""
    out: list[Diagnosis] = []
    for unit in profile.units:
        out += _unit(unit, profile.kind == FRONT_END)
    for module in dict.fromkeys(unit.module for unit in profile.units if unit.module):
        out += _module(profile, module)
    return out


def _unit(unit: UnitProfile, front_end_only: bool) -> list[Diagnosis]:
    host = sum(seconds_of(p) for p in unit.passes if not p.is_device)
    device = sum(seconds_of(p) for p in unit.passes if p.is_device)
    total = host + device
    bound = _bound(host, device)
    out: list[Diagnosis] = []

    def say(text: str, codes: Sequence[str] = (), helps: bool = True) -> None:
        out.append(Diagnosis(unit.module, unit.source, bound, text, tuple(codes), helps))

    torch = {p.name: _share(p, TORCH) for p in unit.passes}
    if max(torch.values(), default=0.0) >= WORTH:
        shares = ", ".join(f"{share:.0%} in the {_name(name)}" for name, share in torch.items())
        say(f"torch brings the lines: {shares}; take it out with `torchless migrate`", ("TL101", "TL111", "TL113"))
    ck = max((_share(p, "ck") for p in unit.passes), default=0.0)
    if ck >= WORTH:
        say(f"composable_kernel brings {ck:.0%} of the lines; if the module uses none of it: ENABLE_CK=0", ("TL115",))
    if unit.binds and total and device / total >= IDLE:
        say(f"it registers functions and has nothing for the device, whose pass takes {device / total:.0%}", ("TL610",))
    tables = _tables(unit)
    if tables >= TABLES:
        say(
            f"instantiating std::function takes {tables:.0%} of the host's front end: sorted tables", ("TL510", "TL511")
        )
    if out:
        return out
    if bound == "device":
        if front_end_only:
            say("the device's front end dominates, and no header in it that torchless takes out", (), False)
        else:
            behind = _behind(unit)
            say(
                f"the device pass takes {device / total:.0%} of the seconds, {behind:.0%} of them in optimiser and code"
                " generation: that is the kernels' own code, and torchless cannot help",
                (),
                False,
            )
    elif total:
        say(f"nothing that torchless takes out brings {WORTH:.0%} of the lines of any pass", (), False)
    return out


def _bound(host: float, device: float) -> str:
    total = host + device
    if not total:
        return ""
    if host / total >= BOUND:
        return "host"
    return "device" if device / total >= BOUND else "both"


def _share(profiled: PassProfile, kind: str) -> float:
    lines = profiled.lines
    return lines.through.get(kind, 0) / lines.total if lines is not None and lines.total else 0.0


def _name(name: str) -> str:
    return "host pass" if name == "host" else f"device pass for {name}"


def _tables(unit: UnitProfile) -> float:
    """The share of std::function in the front end of the host's pass, both out of the first trial's trace."""
    for profiled in unit.passes:
        front = profiled.runs[0].front_end if profiled.runs else None
        if not profiled.is_device and front:
            return profiled.tables / front
    return 0.0


def _behind(unit: UnitProfile) -> float:
    """The share of the device passes that lies behind the front end."""
    runs = [run for p in unit.passes if p.is_device for run in p.runs if run.front_end is not None]
    behind = sum((run.optimizer or 0.0) + (run.code_generation or 0.0) for run in runs)
    whole = behind + sum(run.front_end or 0.0 for run in runs)
    return behind / whole if whole else 0.0


def _module(profile: Profile, module: str) -> list[Diagnosis]:
    units = [unit for unit in profile.units if unit.module == module]
    seconds = [unit_seconds(unit) for unit in units]
    if len(units) < 2 or not any(seconds):
        return []
    found = schedule(seconds, profile.build_jobs)
    best = schedule(seconds, profile.build_jobs, largest_first=True)
    slowest = units[max(range(len(units)), key=lambda n: (seconds[n], -n))].source
    what = "front ends" if profile.kind == FRONT_END else "compilations"
    head = f"{len(units)} {what} with MAX_JOBS={profile.build_jobs}: "
    if found.bound_by == "longest":
        text = (
            f"{slowest} is the critical path, {found.longest:.1f} of {found.wall:.1f} s: make it lighter, or split it"
        )
    elif found.bound_by == "total":
        text = f"the jobs are busy all the time, {found.wall:.1f} s: every unit that gets lighter helps"
    else:
        text = (
            f"the order costs {found.wall - best.wall:.1f} of {found.wall:.1f} s: the build starts long units late,"
            f" {slowest} among them"
        )
    return [Diagnosis(module, "", "", head + text, (), found.bound_by != "longest")]

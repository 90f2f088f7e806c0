"""Profiles that nobody had to measure."""

from __future__ import annotations

from torchless.profile.model import (
    FRONT_END,
    BuildProfile,
    FileLines,
    HeaderTime,
    Lines,
    Node,
    PassProfile,
    Placed,
    Profile,
    Seconds,
    UnitProfile,
)

TORCH = "/venv/torch/include/torch/all.h"


def lines(total: int, torch: int = 0, ck: int = 0) -> Lines:
    """Lines of a pass: some below a header of torch, some below one of composable_kernel, the rest of the source."""
    own = total - torch - ck
    kinds = {"checkout": own, "torch": torch, "ck": ck}
    brought = {kind: count for kind, count in kinds.items() if count and kind != "checkout"}
    paths = {"torch": TORCH, "ck": "/x/include/ck_tile/core.hpp"}
    children = tuple(Node(paths[kind], kind, count, count) for kind, count in brought.items())
    files = (
        FileLines("csrc/a.cu", "checkout", own, total, 1),
        *(FileLines(paths[kind], kind, count, count, 1, ("csrc/a.cu:1",)) for kind, count in brought.items()),
    )
    tree = Node("csrc/a.cu", "checkout", own, total, children)
    by_kind = {kind: count for kind, count in kinds.items() if count}
    in_front = 100 if total >= 1000 else 0
    return Lines(total, by_kind, {**brought, "checkout": total}, files, len(files), tree, in_front)


def unit(
    source: str,
    host: tuple[float | Seconds | tuple[float, ...], Lines] | None = None,
    device: tuple[float | Seconds | tuple[float, ...], Lines] | None = None,
    module: str = "m",
    tables: float = 0.0,
) -> UnitProfile:
    """A unit; its passes are (seconds of one run or of several, lines)."""
    passes = []
    for name, given in (("host", host), ("gfx942", device)):
        if given is None:
            continue
        told = given[0]
        if isinstance(told, Seconds):
            runs: tuple[Seconds, ...] = (told,)
        else:
            runs = tuple(Seconds(s, s, s, 0.0, 0.0) for s in (told if isinstance(told, tuple) else (told,)))
        headers = (HeaderTime(TORCH, 1.5, 0.5, 1),)
        passes.append(PassProfile(name, given[1], runs, headers, tables if name == "host" else 0.0))
    return UnitProfile(source, module, "derived", tuple(passes))


def profile(*units: UnitProfile, version: str = "", kind: str = FRONT_END, build_jobs: int = 1) -> Profile:
    """A profile of them."""
    return Profile("/checkout", version, kind, ("clang version 19.1.7", "torch 2.13.0"), 2, build_jobs, units)


def build(module: str, *trials: float, problem: str = "") -> BuildProfile:
    """A build of two units."""
    return BuildProfile(module, trials, (Placed("a.cu", 0.0, 20.0), Placed("b.cu", 0.5, 4.0)), problem)

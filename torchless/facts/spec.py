"""How a translation unit is parsed. Apart from facts/model.py, for those who need no facts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TuSpec:
    """How one translation unit is parsed.

    include_dirs are root-relative or absolute, in order. device: the device pass instead of the host pass.
    enable_ck: value of -DENABLE_CK. defines: further "NAME=VALUE" strings. further_names: hard links and the name
    that results use for the file instead.
    """

    source: str
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    enable_ck: bool = False
    device: bool = False
    arch: str = "gfx942"
    further_names: tuple[tuple[str, str], ...] = ()

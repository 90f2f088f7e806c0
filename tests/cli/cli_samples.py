"""Results that no engine had to compute: one unit of each status, and what migrate() would give for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torchless import api
from torchless.model import Edit, Finding, LedgerEntry, Tier, Unit, UnitStatus

OLD = b"void scale(torch::Tensor& out);\n"
NEW = b"void scale(aiter_tensor_t& out);\n"


def finding(code: str = "TL201", path: str = "csrc/scale.cu", **more: object) -> Finding:
    """A finding at 3:7 of a file."""
    values: dict[str, object] = {"message": f"about {code}", "start": 11, "end": 24, "line": 3, "column": 7}
    return Finding(code=code, path=path, **{**values, **more})  # type: ignore[arg-type]


EDIT = Edit("csrc/scale.cu", 11, 24, b"aiter_tensor_t", "TL201")
BLOCKER = finding("TL490", message="torch::empty allocates", blocks=True, help="Allocate in Python.")
MIGRATED = Unit(
    name="scale",
    modules=("module_scale",),
    entry_points=("scale_rows", "clamp_rows"),
    files=("csrc/scale.cu",),
    status=UnitStatus.MIGRATED,
    findings=(finding(edits=(EDIT,)),),
    edits=(EDIT,),
    ledger=(
        LedgerEntry("abort", "a failing check ends the process", "csrc/scale.cu", 9),
        LedgerEntry("abort", "a failing check ends the process", "csrc/scale.cu", 12),
        LedgerEntry("guard", "clamp_rows sets the device", "csrc/scale.cu", 30),
    ),
    joined_by=(("scale_rows", "clamp_rows", "the same module"),),
)
BLOCKED = Unit("norm", ("module_norm",), ("rms_norm",), status=UnitStatus.BLOCKED, findings=(BLOCKER,))
BACKED_OUT = Unit(
    "rope",
    ("module_rope",),
    ("rope",),
    status=UnitStatus.BACKED_OUT,
    findings=(finding("TL008", message="no member named 'sizes'"),),
)
UNCHECKED = Unit("mla", ("module_mla",), ("mla",), status=UnitStatus.UNCHECKED, edits=(Edit("csrc/mla.cu", 0, 1, b""),))
CLEAN = Unit("gate", ("module_gate",), ("gate",), status=UnitStatus.CLEAN)


def result(
    *units: Unit, root: Path | str = "/nowhere", changed: bool | None = None, **more: object
) -> api.MigrateResult:
    """A result of ``units``; csrc/scale.cu is changed when one of them migrated (or as ``changed`` says)."""
    edits = tuple(edit for unit in units if unit.status is UnitStatus.MIGRATED for edit in unit.edits)
    changes: Mapping[str, api.FileChange] = {}
    if edits if changed is None else changed:
        changes = {"csrc/scale.cu": api.FileChange(OLD, NEW)}
    values: dict[str, object] = {"findings": (), "seconds": 1.25, "found": f"{len(units)} units in 3 modules"}
    return api.MigrateResult(root=str(root), units=units, changes=changes, edits=edits, **{**values, **more})  # type: ignore[arg-type]


UNSAFE = finding("TL234", tier=Tier.UNSAFE, edits=(Edit("csrc/scale.cu", 0, 4, b"x", "TL234"),))

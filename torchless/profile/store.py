"""Profiles as JSON data and back, so that what was measured on one day can be compared with what is measured later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchless.errors import ToolError
from torchless.profile.model import (
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

SCHEMA_VERSION = 1


class StoreError(ToolError):
    """A result file that cannot be used; one line that says what to do."""


def to_data(profile: Profile) -> dict[str, Any]:
    """``profile`` as JSON data; seconds are rounded to microseconds."""
    data = asdict(profile)
    rounded: dict[str, Any] = _rounded(data)
    return rounded


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return round(data, 6)
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_rounded(value) for value in data]
    return data


def read(path: Path) -> Profile:
    """The one profile in a file that `torchless profile --output-format json` wrote. Raises StoreError."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise StoreError(f"{path}: not JSON") from None
    if not isinstance(document, dict) or "profiles" not in document:
        raise StoreError(f"{path}: no result of `torchless profile --output-format json`")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise StoreError(f"{path}: a result of another version of torchless; measure it again")
    if len(document["profiles"]) != 1:
        raise StoreError(f"{path}: it compares two versions; name the result of one")
    try:
        return from_data(document["profiles"][0])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{path}: a result that cannot be read: {error!r}") from None


def from_data(data: Mapping[str, Any]) -> Profile:
    """What to_data() made. Raises KeyError, TypeError and their kin for anything else."""
    return Profile(
        root=data["root"],
        version=data["version"],
        kind=data["kind"],
        how=tuple(data["how"]),
        jobs=data["jobs"],
        build_jobs=data["build_jobs"],
        units=tuple(_unit(unit) for unit in data["units"]),
        builds=tuple(_build(build) for build in data["builds"]),
        problems=tuple(data["problems"]),
    )


def _unit(data: Mapping[str, Any]) -> UnitProfile:
    passes = tuple(_pass(each) for each in data["passes"])
    return UnitProfile(**{**data, "passes": passes})


def _pass(data: Mapping[str, Any]) -> PassProfile:
    lines = data["lines"]
    return PassProfile(
        data["name"],
        None if lines is None else _lines(lines),
        tuple(Seconds(**run) for run in data["runs"]),
        tuple(HeaderTime(**row) for row in data["headers"]),
        data["tables"],
    )


def _lines(data: Mapping[str, Any]) -> Lines:
    files = tuple(FileLines(**{**row, "chain": tuple(row["chain"])}) for row in data["files"])
    tree = _node(data["tree"])
    return Lines(data["total"], data["by_kind"], data["through"], files, data["opened"], tree, data["in_front"])


def _node(data: Mapping[str, Any]) -> Node:
    children = tuple(_node(child) for child in data["children"])
    return Node(data["path"], data["kind"], data["exclusive"], data["inclusive"], children)


def _build(data: Mapping[str, Any]) -> BuildProfile:
    units = tuple(Placed(**unit) for unit in data["units"])
    return BuildProfile(data["module"], tuple(data["trials"]), units, data["problem"])

"""Check results that are remembered: a check with the very inputs of an earlier run is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchless.facts import flags
from torchless.facts.cache import Cache
from torchless.facts.includes import IncludeGraph
from torchless.facts.model import Diagnostic
from torchless.text.edits import apply
from torchless.verify.planted import Place
from torchless.verify.types import CheckJob, CheckResult

RunChecks = Callable[[Sequence[CheckJob]], Sequence[CheckResult]]


def remembering(run: RunChecks, cache: Cache, graph: IncludeGraph, hashes: dict[str, str] | None = None) -> RunChecks:
    """``run``, asked only for the jobs whose results ``cache`` does not hold. Failures are not remembered.

    The key of a result covers the job and the content, edits made, of every project file that the unit can reach.
    ``hashes`` keeps those of files on disk from one call to the next.
    """
    hashes = {} if hashes is None else hashes

    def checked(jobs: Sequence[CheckJob]) -> list[CheckResult]:
        keys = [cache.full_key([_job_key(job, graph, hashes)], flags.toolchain(), [("check", _FORMAT)]) for job in jobs]
        known = [_decode(cache.findings(key), job) for key, job in zip(keys, jobs, strict=True)]
        missing = [i for i, result in enumerate(known) if result is None]
        fresh = dict(zip(missing, run([jobs[i] for i in missing]), strict=True)) if missing else {}
        for i, result in fresh.items():
            if not result.failure:
                cache.store_findings(keys[i], json.dumps(asdict(result) | {"spec": None}).encode())
        return [fresh[i] if r is None else r for i, r in enumerate(known)]

    return checked


_FORMAT = 1


def _job_key(job: CheckJob, graph: IncludeGraph, hashes: dict[str, str]) -> str:
    by_path: dict[str, list[Any]] = {}
    for edit in job.edits:
        by_path.setdefault(edit.path, []).append(edit)
    printed = dict(job.printed)
    texts = {**printed, **dict(job.created)}
    for path, edits in by_path.items():
        texts[path] = apply(printed[path] if path in printed else (graph.root / path).read_bytes(), edits)
    digest = hashlib.sha256(repr((job.spec, job.places, job.baseline, flags.stubs_digest())).encode())
    after = graph.with_overlay(texts)
    for path in sorted(after.closure_of(job.spec.source)):
        digest.update(path.encode() + b"\0" + _hash(path, texts, graph.root, hashes).encode())
    return digest.hexdigest()


def _hash(path: str, texts: Mapping[str, bytes], root: Path, hashes: dict[str, str]) -> str:
    if path in texts:
        return hashlib.sha256(texts[path]).hexdigest()
    if path not in hashes:
        file = root / path
        hashes[path] = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return hashes[path]


def _decode(body: bytes | None, job: CheckJob) -> CheckResult | None:
    """The result in ``body``; None for anything that is not one."""
    if body is None:
        return None
    try:
        row = json.loads(body)
        return CheckResult(
            job.spec,
            tuple(Diagnostic(**d) for d in row["new_diagnostics"]),
            tuple(tuple(chain) for chain in row["torch_opened"]),
            tuple(Place(**p) for p in row["blind_places"]),
            row["failure"],
            row["seconds"],
        )
    except (ValueError, TypeError, KeyError):
        return None

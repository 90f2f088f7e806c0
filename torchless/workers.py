"""Parsing and checking in worker processes, with what earlier runs found out remembered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchless.analysis import Analysis
from torchless.facts.cache import Cache, default_folder
from torchless.facts.model import TuFacts, TuSpec
from torchless.facts.pool import parse_many, prepare_pch
from torchless.options import MigrateOptions, Progress
from torchless.project.model import Project
from torchless.verify.remembered import RunChecks, remembering
from torchless.verify.types import CheckJob, CheckResult, check_tus


def parse(specs: Sequence[TuSpec], project: Project, options: MigrateOptions, progress: Progress) -> list[TuFacts]:
    """Facts of every unit: from the cache where it knows them, else parsed in worker processes and remembered."""
    root = Path(project.root)
    printed = dict(project.printed)
    cache = Cache(root, headers=options.headers, overlays=printed) if options.cache else None
    known: dict[int, TuFacts] = {}
    if cache is not None:
        for i, spec in enumerate(specs):
            hit = cache.facts(spec)
            if hit is not None:
                known[i] = hit[1]
    missing = [i for i in range(len(specs)) if i not in known]
    if missing:
        pch = prepare_pch(options.arch, default_folder(), jobs=options.jobs)
        parsed = parse_many(
            [specs[i] for i in missing],
            root,
            headers=options.headers,
            overlays=printed,
            pch=pch,
            jobs=options.jobs,
            progress=lambda done, total: progress("parsing", done, total),
        )
        for i, facts in zip(missing, parsed, strict=True):
            known[i] = facts
            if cache is not None:
                cache.store_facts(facts)
    return [known[i] for i in range(len(specs))]


def check_runner(analysis: Analysis, options: MigrateOptions, progress: Progress) -> RunChecks:
    """How checks are run: in worker processes, and only those whose results are not remembered.

    Remembered are checks over the stub headers alone: an installed torch may change without a trace in a key.
    """

    def run(jobs: Sequence[CheckJob]) -> Sequence[CheckResult]:
        return check_tus(
            jobs,
            analysis.root,
            headers=options.headers,
            pch=prepare_pch(options.arch, default_folder(), jobs=options.jobs),
            workers=options.jobs,
            progress=lambda done, total: progress("checking", done, total),
        )

    if not options.cache or options.headers != "stubs":
        return run
    return remembering(run, Cache(analysis.root, headers=options.headers), analysis.graph, analysis.hashes)

"""Many new files are read by two processes, and the answer is the same as by one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from torchless import check as checking
from torchless.check import check, context_of
from torchless.index import Index
from torchless.lints import ahead
from torchless.lints.context import Context
from torchless.model import Finding
from torchless.options import CheckOptions

OPTIONS = CheckOptions((".",), cache=False)


def findings(root: Path) -> list[Finding]:
    return list(check(OPTIONS, root, lambda stage, done, total: None).findings)


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has two cores and runs nothing but the check."""
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(ahead.threading, "active_count", lambda: 1)
    monkeypatch.setattr(checking, "_MANY", 1)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds that a lint had to compute itself."""
    kinds: list[str] = []
    real = Index.get

    def get(self: Index, path: str, kind: str, version: int, compute: object) -> object:
        if not self.knows(path, kind, version):
            kinds.append(kind)
        return real(self, path, kind, version, compute)  # type: ignore[arg-type]

    monkeypatch.setattr(Index, "get", get)
    return kinds


def test_the_findings_are_the_same(
    mini_aiter: Path, two_processes: None, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_two = findings(mini_aiter)
    known = {scan.kind for scan in ahead.OF_ALL}
    assert by_two
    assert not known.intersection(computed)
    monkeypatch.setattr(checking, "_MANY", 10_000)
    assert findings(mini_aiter) == by_two
    assert known <= set(computed)


def test_what_the_other_process_read_is_what_this_one_would_have(mini_aiter: Path, two_processes: None) -> None:
    contexts = [context_of(OPTIONS, mini_aiter) for _ in range(2)]
    new = sorted(contexts[0].files)
    ahead.read_ahead(contexts[0], new)
    rows = ahead.rows_of(contexts[1], new)
    assert len({row[0] for row in rows}) > 10
    for key, kind, version, stored in rows:
        assert contexts[0].index._bodies[key][kind] == (version, stored)


def test_a_process_that_dies_costs_nothing_but_time(
    mini_aiter: Path, two_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = findings(mini_aiter)

    def die(context: Context, paths: Sequence[str], sender: Connection) -> None:
        os._exit(1)

    monkeypatch.setattr(ahead, "_answer", die)
    assert findings(mini_aiter) == wanted


def test_a_file_that_cannot_be_read_is_left_to_the_check(mini_aiter: Path) -> None:
    context = context_of(OPTIONS, mini_aiter)
    rows = ahead.rows_of(context, ["csrc/include/gone.h", "csrc/include/norm.h"])
    assert {row[0] for row in rows} == {context.index.key("csrc/include/norm.h")}


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 2)])
def test_no_process_is_copied_where_that_is_no_gain_or_not_safe(
    mini_aiter: Path, monkeypatch: pytest.MonkeyPatch, cores: int, threads: int
) -> None:
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(ahead.threading, "active_count", lambda: threads)
    monkeypatch.setattr(ahead.multiprocessing, "get_context", lambda kind: pytest.fail("a process is copied"))
    context = context_of(OPTIONS, mini_aiter)
    ahead.read_ahead(context, sorted(context.files))

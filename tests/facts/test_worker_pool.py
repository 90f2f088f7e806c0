"""Work in processes: order, crashes, timeouts, memory, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torchless.facts import clang, pool, worker
from torchless.facts.model import TuFacts, TuSpec
from torchless.facts.pch import PchSet


def task(item: tuple[str, int]) -> object:
    """What workers run in these tests."""
    action, value = item
    if action == "square":
        return value * value
    if action == "raise":
        raise ValueError(f"cannot\ndo {value}")
    if action == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if action == "exit":
        os._exit(value)
    if action == "sleep":
        time.sleep(value)
    if action == "noise":
        print("text on standard output", flush=True)
        os.write(1, b"more of it\n")
    if action == "big":
        return b"x" * value
    if action == "grow":
        bytearray(value)[::4096] = b"x" * len(range(0, value, 4096))
    return os.getpid()


def run(items: list[tuple[str, int]], **settings: object) -> list[pool.Outcome[object]]:
    return sorted(pool.run_all(task, items, **settings), key=lambda o: o.index)  # type: ignore[arg-type]


def test_every_item_has_one_outcome() -> None:
    outcomes = run([("square", i) for i in range(25)], jobs=3)
    assert [(o.index, o.value, o.failure) for o in outcomes] == [(i, i * i, "") for i in range(25)]
    assert run([]) == []


def test_heavy_items_start_first() -> None:
    order = [o.index for o in pool.run_all(task, [("square", i) for i in range(5)], jobs=1, weights=[3, 9, 1, 9, 5])]
    assert order == [1, 3, 4, 0, 2]


def test_an_exception_is_one_line_and_costs_no_process() -> None:
    first, second, third = run([("pid", 0), ("raise", 7), ("pid", 0)], jobs=1)
    assert (second.value, second.failure, second.died) == (None, "ValueError: cannot do 7", False)
    assert first.value == third.value


def test_a_death_costs_one_item() -> None:
    items = [("square", 1), ("crash", 0), ("square", 2), ("exit", 3), ("square", 3)]
    outcomes = run(items, jobs=2)
    assert [o.value for o in outcomes] == [1, None, 4, None, 9]
    assert outcomes[1].failure == "the parser crashed (SIGSEGV)"
    assert outcomes[3].failure == "the parser's process ended (exit code 3)"
    assert outcomes[1].died and outcomes[3].died


def test_a_timeout_costs_one_item() -> None:
    started = time.monotonic()
    outcomes = run([("sleep", 600), ("square", 2), ("square", 3)], jobs=1, timeout=10.0)
    assert [o.failure for o in outcomes] == ["took longer than 10 s", "", ""]
    assert time.monotonic() - started < 300


def test_large_answers_and_noise() -> None:
    outcomes = run([("big", 5_000_000), ("noise", 0), ("square", 3)], jobs=1)
    assert outcomes[0].value == b"x" * 5_000_000
    assert isinstance(outcomes[1].value, int)
    assert outcomes[2].value == 9


def test_a_worker_that_has_grown_is_replaced() -> None:
    pids = [o.value for o in run([("pid", 0), ("pid", 0), ("pid", 0)], jobs=1, memory_limit=1)]
    assert len(set(pids)) == 3
    pids = [o.value for o in run([("pid", 0), ("pid", 0), ("pid", 0)], jobs=1)]
    assert len(set(pids)) == 1
    assert worker.resident_bytes() > 1 << 20


def test_abandoned_work_leaves_no_process() -> None:
    outcomes = pool.run_all(task, [("pid", 0), ("sleep", 60), ("sleep", 60)], jobs=2)
    pid = next(outcomes).value
    outcomes.close()
    assert isinstance(pid, int)
    assert not _alive(pid)


SCRIPT = """
import os, sys
from torchless.facts import pool
from test_worker_pool import task
for outcome in pool.run_all(task, [("pid", 0), ("pid", 0), ("sleep", 60), ("sleep", 60)], jobs=2):
    print(outcome.value, flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_orphans_when_the_parent_ends(how: signal.Signals) -> None:
    """Ctrl-C reaches the parent alone here; after SIGKILL it cannot clean up."""
    if how == signal.SIGKILL and not sys.platform.startswith("linux"):
        pytest.skip("only Linux tells children of their parent's death")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    )
    assert parent.stdout is not None
    pids = {int(parent.stdout.readline()), int(parent.stdout.readline())}
    time.sleep(0.3)
    started = time.monotonic()
    parent.send_signal(how)
    parent.wait(timeout=20)
    parent.communicate()
    deadline = started + 10
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if _alive(pid)]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2:3]


def crashing_parse(spec: TuSpec, **settings: object) -> TuFacts:
    """Stands in for clang.parse() in a worker: dies over one unit, and over another with a precompiled header."""
    if spec.source == "dies.cu" or (spec.source == "pch.cu" and settings["pch"] is not None):
        os.kill(os.getpid(), signal.SIGSEGV)
    return TuFacts(spec, opened=(spec.source,))


def crashing_task(settings: dict[str, object], pch: PchSet | None, spec: TuSpec) -> TuFacts:
    return crashing_parse(spec, pch=pch, **settings)


def test_units_survive_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "parse_task", crashing_task)
    specs = [TuSpec(name) for name in ("a.cu", "dies.cu", "pch.cu", "b.cu")]
    seen: list[tuple[int, int]] = []
    results = pool.parse_many(
        specs, tmp_path, pch=PchSet("gfx942", ()), jobs=2, progress=lambda done, total: seen.append((done, total))
    )
    assert [r.spec for r in results] == specs
    assert [r.failure for r in results] == ["", "dies.cu: the parser crashed (SIGSEGV)", "", ""]
    assert results[2].opened == ("pch.cu",)
    assert results[2].notes == ("parsed without the precompiled header: the parser died over it",)
    assert seen == [(i, 4) for i in range(1, 5)]


def test_order_does_not_depend_on_scheduling(tmp_path: Path, pch: PchSet) -> None:
    specs = []
    for i in range(6):
        (tmp_path / f"{i}.cu").write_text(f"void f{i}();\n" + "// filler\n" * (i * 37 % 5))
        specs += [TuSpec(f"{i}.cu"), TuSpec(f"{i}.cu", device=True)]
    one = pool.parse_many(specs, tmp_path, pch=pch, jobs=1)
    four = pool.parse_many(specs, tmp_path, pch=pch, jobs=4)
    assert [f.files for f in one] == [f.files for f in four]
    assert [f.spec for f in one] == specs
    assert one[0].files == clang.parse(specs[0], root=tmp_path, pch=pch).files

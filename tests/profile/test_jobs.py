"""Jobs: the largest first, results in the order of the input, the first failure at once; processes that are bounded."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from torchless.profile.jobs import run_jobs
from torchless.profile.run import bounded, end_all, first_error, run


def test_the_largest_starts_first_and_results_keep_their_order():
    started: list[str] = []

    def work(item: str) -> str:
        started.append(item)
        return item.upper()

    done = run_jobs(work, ["a", "b", "c", "d"], jobs=1, weights=[1, 3, 3, 2])
    assert started == ["b", "c", "d", "a"]
    assert [d.value for d in done if d] == ["A", "B", "C", "D"]


def test_workers_do_not_change_the_result():
    items = list(range(20))
    for jobs in (1, 3, 50):
        done = run_jobs(lambda n: n * n, items, jobs=jobs, weights=[float(n % 7) for n in items])
        assert [d.value for d in done if d] == [n * n for n in items]


def test_the_first_failure_is_told_at_once_and_stops_the_queue():
    told: list[tuple[int, float]] = []
    began = time.monotonic()
    release = threading.Event()
    both = threading.Event()

    def work(item: int) -> str:
        if item == 0:
            both.wait(5)
            return "broken"
        both.set()
        release.wait(5)
        return ""

    def on_failure(item: int, problem: str) -> None:
        told.append((item, time.monotonic() - began))
        assert problem == "broken"
        release.set()  # the other one still runs now

    done = run_jobs(work, [0, 1, 2, 3], jobs=2, failure=lambda value: value, on_failure=on_failure)
    assert [n for n, _ in told] == [0] and told[0][1] < 4
    assert [d is not None for d in done] == [True, True, False, False]
    assert done[1] is not None and done[1].value == ""


def test_with_keep_going_all_are_run():
    told: list[int] = []
    done = run_jobs(
        lambda n: "odd" if n % 2 else "",
        range(6),
        jobs=1,
        failure=lambda value: value,
        on_failure=lambda n, _: told.append(n),
        keep_going=True,
    )
    assert told == [1, 3, 5] and all(done)


def test_an_exception_in_a_job_is_raised():
    with pytest.raises(ZeroDivisionError):
        run_jobs(lambda n: 1 // n, [1, 0, 2], jobs=2)
    assert run_jobs(lambda n: n, [], jobs=2) == []


def test_slots_and_times_say_what_ran_beside_what():
    done = run_jobs(lambda n: time.sleep(0.05), [1, 2, 3], jobs=2)
    assert {d.slot for d in done if d} <= {0, 1}
    assert all(d is not None and d.seconds >= 0.04 and d.started >= 0 for d in done)


def test_a_process_is_measured(tmp_path):
    ran = run([sys.executable, "-c", "print('out'); sum(range(10**6))"], tmp_path)
    assert (ran.code, ran.out, ran.err, ran.problem) == (0, b"out\n", b"", "")
    assert 0 < ran.cpu < 10 and ran.wall > 0


def test_cpu_seconds_count_the_children(tmp_path):
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}], check=True)"
    assert run([sys.executable, "-c", program], tmp_path).cpu >= 0.3


def test_a_process_that_fails_says_why(tmp_path):
    program = "import sys; sys.stderr.write('a note\\nx.cu:1: error: no\\nmore\\n'); sys.exit(3)"
    ran = run([sys.executable, "-c", program], tmp_path)
    assert (ran.code, ran.problem) == (3, "x.cu:1: error: no")
    assert run([sys.executable, "-c", "raise SystemExit(4)"], tmp_path).problem.endswith("failed with exit code 4")
    assert run([sys.executable, "-c", "import os; os.abort()"], tmp_path).problem.endswith("failed with SIGABRT")
    assert run(["/no/such/compiler"], tmp_path).problem == "/no/such/compiler: No such file or directory"


def test_a_process_that_hangs_is_ended_with_its_children(tmp_path):
    program = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    began = time.monotonic()
    ran = run([sys.executable, "-c", program], tmp_path, timeout=0.7)
    assert ran.problem == "no answer after 1 s"
    assert time.monotonic() - began < 20


def test_all_processes_can_be_ended(tmp_path):
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(run(["sleep", "60"], tmp_path).problem))
    thread.start()
    for _ in range(200):
        time.sleep(0.02)
        end_all()
        if ended:
            break
    thread.join(5)
    assert ended == ["sleep failed with SIGKILL"]


def test_the_environment_and_where_output_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("GONE", "1")
    program = "import os, sys; print(os.environ.get('GONE'), os.environ['HERE']); print('e', file=sys.stderr)"
    ran = run([sys.executable, "-c", program], tmp_path, {"HERE": "2"}, output=tmp_path / "log", unset=("GONE",))
    assert sorted((tmp_path / "log").read_text().split()) == ["2", "None", "e"]
    assert ran.out == Path(tmp_path / "log").read_bytes()


def test_the_compilers_own_threads_are_bounded():
    command = [
        "hipcc",
        "-parallel-jobs=16",
        "-flto-jobs=8",
        "--offload-jobs=jobserver",
        "-O3",
        "-Wl,--thinlto-jobs=all",
    ]
    assert bounded(command, 2) == [
        *("hipcc", "-parallel-jobs=2", "-flto-jobs=2", "--offload-jobs=2", "-O3", "-Wl,--thinlto-jobs=2"),
    ]
    assert bounded(["hipcc", "-DX=-parallel-jobs=16"], 0) == ["hipcc", "-DX=-parallel-jobs=16"]


def test_which_line_tells_what_went_wrong():
    assert first_error(b"") == ""
    assert first_error(b"note\nhipcc: fatal error: x\n") == "hipcc: fatal error: x"
    assert first_error(b"Traceback (most recent call last):\n  File\nValueError: no\n") == "ValueError: no"

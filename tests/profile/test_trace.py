"""The reader of -ftime-trace: both shapes of Source events, and files that must not pass for an empty answer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from torchless.profile.trace import Span, TraceError, header_times, read_trace

SECOND = 1_000_000
ENDS = [
    {"ph": "X", "ts": 0, "dur": 9 * SECOND, "name": "ExecuteCompiler"},
    {"ph": "X", "ts": 0, "dur": 6 * SECOND, "name": "Frontend"},
    {"ph": "X", "ts": 6 * SECOND, "dur": 3 * SECOND, "name": "Backend"},
    {"ph": "X", "ts": 0, "dur": 9 * SECOND, "name": "Total ExecuteCompiler", "args": {"count": 1}},
    {"ph": "X", "ts": 0, "dur": 6 * SECOND, "name": "Total Frontend", "args": {"count": 2}},
    {"ph": "X", "ts": 0, "dur": 3 * SECOND, "name": "Total Backend"},
    {"ph": "X", "ts": 0, "dur": 2 * SECOND, "name": "Total Optimizer"},
    {"ph": "X", "ts": 0, "dur": 1 * SECOND, "name": "Total CodeGenPasses"},
    {"ph": "M", "ts": 0, "name": "process_name", "args": {"name": "clang"}},
]
# outer.h from 1 to 5 s, with inner.h from 2 to 3 s in it
WHOLE = [
    {"ph": "X", "ts": 2 * SECOND, "dur": 1 * SECOND, "name": "Source", "args": {"detail": "inner.h"}},
    {"ph": "X", "ts": 1 * SECOND, "dur": 4 * SECOND, "name": "Source", "args": {"detail": "outer.h"}},
]
PAIRS = [
    {"ph": "b", "cat": "Source", "id": 0, "ts": 2 * SECOND, "name": "Source", "args": {"detail": "inner.h"}},
    {"ph": "e", "cat": "Source", "id": 0, "ts": 3 * SECOND, "name": "Source"},
    {"ph": "b", "cat": "Source", "id": 0, "ts": 1 * SECOND, "name": "Source", "args": {"detail": "outer.h"}},
    {"ph": "e", "cat": "Source", "id": 0, "ts": 5 * SECOND, "name": "Source"},
]


def trace(*events: object) -> bytes:
    return json.dumps({"traceEvents": list(events), "beginningOfTime": 1}).encode()


@pytest.mark.parametrize("sources", [WHOLE, PAIRS], ids=["until clang 18", "since clang 19"])
def test_both_shapes_of_source_events(sources):
    found = read_trace(trace(*sources, *ENDS), "a.json")
    assert [(h.path, h.inclusive, h.exclusive, h.count) for h in found.headers] == [
        ("outer.h", 4.0, 3.0, 1),
        ("inner.h", 1.0, 1.0, 1),
    ]
    assert (found.total, found.front_end, found.optimizer, found.code_generation) == (9.0, 6.0, 2.0, 1.0)


def test_pairs_in_the_order_of_time_are_the_same():
    events = sorted(PAIRS, key=lambda event: event["ts"])
    assert read_trace(trace(*events, *ENDS), "a").headers == read_trace(trace(*PAIRS, *ENDS), "a").headers


def test_no_source_event_is_an_error_and_no_empty_table():
    """P37: a newer compiler wrote its events in another way, and a report was empty without a word."""
    with pytest.raises(TraceError, match=r"^a\.json: 0 Source events although the unit includes headers"):
        read_trace(trace(*ENDS), "a.json")
    renamed = [{**event, "name": "SourceFile"} for event in WHOLE]
    with pytest.raises(TraceError, match="0 Source events"):
        read_trace(trace(*renamed, *ENDS), "a.json")
    other_phase = [{**event, "ph": "s"} for event in WHOLE]
    with pytest.raises(TraceError, match="0 Source events"):
        read_trace(trace(*other_phase, *ENDS), "a.json")
    assert read_trace(trace(*ENDS), "a.json", includes=False).headers == ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (trace(*WHOLE, *ENDS)[:-40], "not JSON"),
        (b"[]", "no traceEvents in it"),
        (b'{"version": 3, "mappings": ""}', "no traceEvents in it"),
        (b'{"traceEvents": [1]}', "no traceEvents in it"),
        (trace(), "no events in it"),
        (trace(*WHOLE), "2 events and none of the front end"),
        (trace({"ph": "X", "name": "Source", "ts": 1}, *ENDS), "an event that cannot be read"),
        (trace(PAIRS[0], *ENDS), "1 headers are entered and never left"),
    ],
)
def test_what_is_no_trace_is_said_in_one_line(data, words):
    with pytest.raises(TraceError) as error:
        read_trace(data, "a.json")
    assert words in str(error.value) and str(error.value).startswith("a.json: ")
    assert "\n" not in str(error.value)


def test_without_sums_the_events_are_added_up():
    found = read_trace(trace(*WHOLE, *(e for e in ENDS if not e["name"].startswith("Total"))), "a")
    assert (found.total, found.front_end, found.optimizer, found.code_generation) == (9.0, 6.0, 0.0, 3.0)


def test_a_header_below_itself_counts_once_and_exclusive_times_add_up():
    spans = [Span("Source", "a.h", 0, 10e6), Span("Source", "b.h", 1e6, 9e6), Span("Source", "a.h", 2e6, 4e6)]
    rows = {row.path: row for row in header_times(spans)}
    assert (rows["a.h"].inclusive, rows["a.h"].count) == (10.0, 2)
    assert rows["b.h"].inclusive == 8.0
    assert sum(row.exclusive for row in rows.values()) == pytest.approx(10.0)


def test_a_header_that_is_read_twice_side_by_side_adds_up():
    spans = [Span("Source", "a.h", 0, 1e6), Span("Source", "a.h", 1e6, 3e6)]
    assert [(row.inclusive, row.count) for row in header_times(spans)] == [(3.0, 2)]


def test_instantiations_of_std_function_are_counted_once():
    tables = [
        {"ph": "X", "ts": 0, "dur": 2e6, "name": "InstantiateClass", "args": {"detail": "std::function<void (int)>"}},
        {
            "ph": "X",
            "ts": 1e6,
            "dur": 5e5,
            "name": "InstantiateFunction",
            "args": {"detail": "std::_Function_handler<x>"},
        },
        {"ph": "X", "ts": 4e6, "dur": 1e6, "name": "InstantiateClass", "args": {"detail": "std::functional_thing<x>"}},
    ]
    assert read_trace(trace(*tables, *WHOLE, *ENDS), "a").tables == 2.0


@pytest.mark.clang
def test_what_a_real_compiler_writes(tmp_path):
    (tmp_path / "inner.h").write_text("#include <vector>\n")
    (tmp_path / "outer.h").write_text('#include "inner.h"\n#include <functional>\n')
    (tmp_path / "a.cpp").write_text(
        '#include "outer.h"\nstd::function<int(int)> f = [](int x) { return x; };\n'
        "int g() { return std::vector<int>{1, 2}.size() + f(1); }\n"
    )
    path = tmp_path / "t.json"
    traced = ["-Xclang", f"-ftime-trace={path}", "-Xclang", "-ftime-trace-granularity=0"]
    command = ["clang++-19", "-std=c++20", "-O2", "-c", "-o", "/dev/null", *traced, "a.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = read_trace(path.read_bytes(), "t.json")
    rows = {Path(row.path).name: row for row in found.headers}
    assert rows["outer.h"].inclusive >= rows["inner.h"].inclusive >= rows["vector"].inclusive > 0
    assert found.total >= found.front_end > 0 and found.optimizer > 0 and found.code_generation > 0
    assert 0 < found.tables < found.front_end
    with pytest.raises(TraceError, match="0 Source events"):
        events = json.loads(path.read_bytes())["traceEvents"]
        read_trace(trace(*(e for e in events if e.get("name") != "Source")), "t.json")

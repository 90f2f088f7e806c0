from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.closure.chains import all_chains, chain, is_certain
from torchless.closure.cost import inclusive, saved_by_removing, total, unweighed
from torchless.closure.heavy import load_heavy
from torchless.closure.model import Closure, Edge
from torchless.closure.walk import shortest
from torchless.closure.weights import Weights, WeightsError, load_weights, read_weights
from torchless.closure.why import matching, why
from torchless.facts.model import TuSpec

Follow = Callable[..., Closure]

# torch/all.h is 1000 lines of its own and 50 that vector has, too.
WEIGHTS = Weights({"torch/all.h": frozenset({0, 1}), "vector": frozenset({1})}, {0: 1000, 1: 50})
FILES = {
    "a.cu": '#include "b.h"\n#include "c.h"\n#include <vector>\n',
    "b.h": '#pragma once\n#include "d.h"\n#include <rocblas/rocblas.h>\n',
    "c.h": '#pragma once\n#include "d.h"\n',
    "d.h": "#pragma once\n#include <torch/all.h>\n",
}


@pytest.fixture
def closure(follow: Follow) -> Closure:
    return follow(FILES, weights=WEIGHTS)


def edge(closure: Closure, includer: str, target: str) -> Edge:
    (found,) = (e for e in closure.edges if (e.includer, e.target) == (includer, target))
    return found


def test_exclusive_and_inclusive(closure: Closure) -> None:
    assert closure.lines == {"a.cu": 3, "b.h": 3, "c.h": 2, "d.h": 2, "torch/all.h": 1050, "vector": 0}
    assert total(closure) == 1060
    assert unweighed(closure) == ["rocblas/rocblas.h"]
    assert inclusive(closure, WEIGHTS) == {
        "a.cu": 1060,
        "b.h": 3 + 2 + 1050,
        "c.h": 2 + 2 + 1050,
        "d.h": 2 + 1050,
        "torch/all.h": 1050,
        "vector": 50,
        "rocblas/rocblas.h": 0,
    }


def test_what_removing_saves(closure: Closure) -> None:
    def saved(*pairs: tuple[str, str]) -> tuple[tuple[str, ...], int]:
        saving = saved_by_removing(closure, [edge(closure, *pair) for pair in pairs], WEIGHTS)
        return saving.files, saving.lines

    assert saved(("a.cu", "b.h")) == (("b.h", "rocblas/rocblas.h"), 3)
    assert saved(("a.cu", "c.h")) == (("c.h",), 2)
    assert saved(("c.h", "d.h")) == ((), 0)
    assert saved(("d.h", "torch/all.h")) == (("torch/all.h",), 1000)  # vector keeps its lines
    assert saved(("b.h", "d.h"), ("c.h", "d.h")) == (("d.h", "torch/all.h"), 1002)
    assert saved(("a.cu", "vector")) == (("vector",), 0)


def test_why(closure: Closure) -> None:
    answer = why(closure, load_heavy(), WEIGHTS, limit=5)
    assert (answer.files, answer.lines, answer.unweighed) == (7, 1060, ("rocblas/rocblas.h",))
    (reason,) = answer.reasons
    assert (reason.header, reason.category, reason.certain, reason.is_all) == ("torch/all.h", "torch", True, True)
    assert (reason.exclusive, reason.inclusive, reason.weighed) == (1050, 1050, True)
    ways = [[(s.edge.includer, s.saves.lines, s.frees) for s in way] for way in reason.chains]
    assert ways == [
        [("a.cu", 3, False), ("b.h", 0, False), ("d.h", 1000, True)],
        [("a.cu", 2, False), ("c.h", 0, False), ("d.h", 1000, True)],
    ]
    (first,) = why(closure, load_heavy(), WEIGHTS).reasons
    assert first.chains == reason.chains[:1] and not first.is_all


def test_why_for_a_header_asked_about(closure: Closure) -> None:
    (reason,) = why(closure, load_heavy(), WEIGHTS, "d.h").reasons
    assert (reason.header, reason.category, reason.weighed) == ("d.h", "", True)
    (reason,) = why(closure, load_heavy(), WEIGHTS, "rocblas.h").reasons
    assert (reason.header, reason.inclusive, reason.weighed) == ("rocblas/rocblas.h", 0, False)
    assert why(closure, load_heavy(), WEIGHTS, "nowhere.h").reasons == ()
    assert why(closure, load_heavy(), WEIGHTS, "a.cu").reasons == ()


def test_names_of_headers(follow: Follow) -> None:
    files = {"a.cu": '#include "x/h.h"\n#include "h.h"\n#include <torch/h.h>\n', "x/h.h": "", "h.h": ""}
    closure = follow(files)
    assert matching(closure, "h.h") == ["h.h"]
    assert matching(closure, "x/h.h") == ["x/h.h"]
    assert matching(closure, "torch/") == ["torch/h.h"]
    del files["h.h"]
    assert matching(follow({**files, "a.cu": files["a.cu"].replace('"h.h"', "<y>")}), "h.h") == ["x/h.h", "torch/h.h"]


def test_two_directives_for_one_header_are_two_ways(follow: Follow) -> None:
    text = "#ifdef HIP_A\n#include <torch/all.h>\n#else\n#include <torch/all.h>\n#endif\n"
    closure = follow({"a.cu": text})
    assert [way[0].line for way in all_chains(closure, "torch/all.h", 9)] == [2, 4]
    assert not is_certain(closure, "torch/all.h")


def test_a_certain_way_goes_before_a_shorter_one(follow: Follow) -> None:
    text = '#ifdef HIP_A\n#include <torch/all.h>\n#endif\n#include "b.h"\n'
    closure = follow({"a.cu": text, "b.h": "#include <torch/all.h>\n"})
    assert [e.includer for e in chain(closure, "torch/all.h")] == ["a.cu", "b.h"]
    assert is_certain(closure, "torch/all.h")
    (reason,) = why(closure, load_heavy(), Weights(), limit=2).reasons
    assert [[s.edge.includer for s in way] for way in reason.chains] == [["a.cu", "b.h"], ["a.cu"]]


NODES = "sabct"


@settings(max_examples=200, deadline=None)
@given(st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES[1:])), max_size=12), st.integers(1, 8))
def test_all_ways_shortest_first(pairs: set[tuple[str, str]], limit: int) -> None:
    edges = tuple(Edge(a, n, n, b, False, b) for n, (a, b) in enumerate(sorted(pairs)) if a != b)
    closure = Closure(TuSpec("s"), edges, shortest("s", edges), {})
    found = all_chains(closure, "t", limit)
    assert found[:1] == ([tuple(chain(closure, "t"))] if "t" in closure.via else [])
    by_pair = {(e.includer, e.target): e for e in edges}
    every = [
        tuple(by_pair[step] for step in itertools.pairwise(way))
        for n in range(len(NODES) - 1)
        for middle in itertools.permutations("abc", n)
        for way in [("s", *middle, "t")]
        if all(step in by_pair for step in itertools.pairwise(way))
    ]
    assert len(found) == min(limit, len(every)) and set(found) <= set(every) and len(set(found)) == len(found)
    lengths = sorted(map(len, every))[: len(found)]
    assert list(map(len, found)) == lengths


def test_a_dense_graph_does_not_take_for_ever() -> None:
    names = [f"n{k}" for k in range(40)]
    edges = tuple(Edge(a, k, k, b, False, b) for a in ["s", *names] for k, b in enumerate(names) if a != b)
    edges += (Edge("n39", 99, 99, "t", False, "t"),)
    closure = Closure(TuSpec("s"), edges, shortest("s", edges), {})
    assert len(all_chains(closure, "t", 50)) == 50


# The stored weights.


def test_stored_weights_add_up_to_what_was_measured() -> None:
    weights = load_weights()
    measured = {
        "torch/extension.h": 419795,
        "torch/all.h": 377416,
        "ATen/ATen.h": 331163,
        "pybind11/pybind11.h": 134550,
        "torch/csrc/stable/tensor.h": 103266,
        "unordered_map": 24528,
        "functional": 39354,
    }
    for header, lines in measured.items():
        assert weights.of([header]) == pytest.approx(lines, rel=0.01)
    assert weights.of(["torch/extension.h", "torch/all.h", "vector"]) == weights.of(["torch/extension.h"])
    assert weights.of(["no/such.h"]) == 0
    assert "g++" in weights.source and "torch 2.13" in weights.source


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"totals": {"a": 1}, "blocks": [[1, [7]]], "how": "", "with": []}'])
def test_a_table_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(WeightsError, match=r"w\.json: not a table of weights"):
        read_weights(tmp_path / "w.json")
    with pytest.raises(WeightsError):
        read_weights(tmp_path / "gone.json")

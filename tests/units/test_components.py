"""Union-find that remembers why: components, and chains of reasons."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from torchless.units.components import Components

NODES = st.integers(0, 12)


def test_joined_nodes_share_a_representative() -> None:
    components: Components[str] = Components()
    components.add("alone")
    components.join("a", "b", "first")
    components.join("c", "d", "second")
    assert components.find("a") == components.find("b") != components.find("c")
    components.join("d", "a", "third")
    assert len({components.find(n) for n in "abcd"}) == 1
    assert components.find("alone") == "alone"
    assert components.groups() == [["alone"], ["a", "b", "c", "d"]]


def test_the_shortest_chain_of_reasons_is_told() -> None:
    components: Components[str] = Components()
    for a, b in pairwise("abcde"):
        components.join(a, b, f"{a}{b}")
    components.join("b", "e", "short cut")
    assert components.why(["a"], ["e"]) == [("a", "ab", "b"), ("b", "short cut", "e")]
    assert components.why(["e"], ["a"]) == [("e", "short cut", "b"), ("b", "ab", "a")]
    assert components.why(["a", "c"], ["d", "x"]) == [("c", "cd", "d")]


def test_no_chain_where_none_is() -> None:
    components: Components[str] = Components()
    components.join("a", "b", "reason")
    components.add("c")
    assert components.why(["a"], ["c"]) == []
    assert components.why(["a"], ["never seen"]) == []
    assert components.why(["a"], ["a"]) == []
    assert components.why([], ["a"]) == []


@given(st.lists(st.tuples(NODES, NODES)), st.lists(NODES))
def test_components_are_those_of_a_naive_partition(joins: list[tuple[int, int]], known: list[int]) -> None:
    components: Components[int] = Components()
    naive: list[set[int]] = []
    for node in known:
        components.add(node)
    for a, b in joins:
        components.join(a, b, f"{a}-{b}")
    for node in {*known, *(n for pair in joins for n in pair)}:
        naive.append({node})
    for a, b in joins:
        both = [part for part in naive if a in part or b in part]
        naive = [part for part in naive if part not in both] + [set().union(*both)]
    assert {frozenset(group) for group in components.groups()} == {frozenset(part) for part in naive}
    assert sum(map(len, components.groups())) == sum(map(len, naive))


@given(st.lists(st.tuples(NODES, NODES), min_size=1), NODES, NODES)
def test_a_chain_is_made_of_joins_and_as_short_as_can_be(joins: list[tuple[int, int]], a: int, b: int) -> None:
    components: Components[int] = Components()
    for x, y in joins:
        components.join(x, y, f"{x}-{y}")
    chain = components.why([a], [b])
    distance, reached = 0, {a}
    while b not in reached and distance <= len(joins):
        reached |= {n for x, y in joins if {x, y} & reached for n in (x, y)}
        distance += 1
    assert len(chain) == (distance if b in reached else 0)
    assert all(reason in (f"{x}-{y}", f"{y}-{x}") and reason for x, reason, y in chain)
    assert {(x, y) for x, _, y in chain} <= {pair for x, y in joins for pair in ((x, y), (y, x))}
    if chain:
        assert (chain[0][0], chain[-1][2]) == (a, b)
        assert all(left[2] == right[0] for left, right in pairwise(chain))

"""Components: union-find over nodes, remembering why any two were joined."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Components(Generic[Node]):
    """Disjoint sets of nodes; every join keeps a reason, so that a chain of reasons can be told."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}
        self._edges: dict[Node, list[tuple[Node, str]]] = {}

    def add(self, node: Node) -> None:
        """Make ``node`` known, alone in its component when it is new."""
        self._parent.setdefault(node, node)

    def find(self, node: Node) -> Node:
        """The representative of the component of ``node``."""
        self.add(node)
        root = node
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[node] != root:
            self._parent[node], node = root, self._parent[node]
        return root

    def join(self, a: Node, b: Node, reason: str) -> None:
        """Put ``a`` and ``b`` into one component."""
        root_a, root_b = self.find(a), self.find(b)
        if a != b:
            self._edges.setdefault(a, []).append((b, reason))
            self._edges.setdefault(b, []).append((a, reason))
        self._parent[root_b] = root_a

    def groups(self) -> list[list[Node]]:
        """The components, in the order in which their first nodes were added."""
        out: dict[Node, list[Node]] = {}
        for node in self._parent:
            out.setdefault(self.find(node), []).append(node)
        return list(out.values())

    def why(self, starts: Iterable[Node], goals: Iterable[Node]) -> list[tuple[Node, str, Node]]:
        """The shortest chain of (node, reason, node) from any of ``starts`` to any of ``goals``; [] when none."""
        wanted = set(goals)
        came: dict[Node, tuple[Node, str] | None] = dict.fromkeys(starts)
        queue = deque(came)
        while queue:
            node = queue.popleft()
            if node in wanted:
                chain: list[tuple[Node, str, Node]] = []
                step = came[node]
                while step is not None:
                    chain.append((step[0], step[1], node))
                    node = step[0]
                    step = came[node]
                return chain[::-1]
            for neighbour, reason in self._edges.get(node, ()):
                if neighbour not in came:
                    came[neighbour] = (node, reason)
                    queue.append(neighbour)
        return []

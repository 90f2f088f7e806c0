"""Answers that are remembered: the same two texts, compared in the same way, need not be compared again."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import torchless
from torchless.facts import flags
from torchless.facts.cache import Cache
from torchless.facts.includes import IncludeGraph
from torchless.facts.spec import TuSpec
from torchless.verify.answer import Answer, Verdict
from torchless.verify.device_code import DeviceCode, Keep, from_bytes, to_bytes
from torchless.verify.ladder import Versions
from torchless.verify.tree import Tree

_FORMAT = 1
_CUT_SHORT = re.compile(r"no answer after|took longer|took too long|timed out")


@dataclass(frozen=True)
class Remembered:
    """Asks a rung only when nobody asked it about these very files; ``graph`` tells what a unit can read."""

    graph: IncludeGraph
    enabled: bool
    _graphs: dict[int, IncludeGraph] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, versions: Versions, rung: str, how: str, ask: Callable[[], Answer]) -> Answer:
        """The answer of ``rung`` about ``versions``. ``how`` must change with everything else that it depends on.

        An answer that a time limit cut short is not kept: the machine may be less busy next time.
        """
        known = self.known(versions, rung, how)
        if known is not None:
            return known
        answer = ask()
        cut_short = any(_CUT_SHORT.search(text) for text in (answer.detail, *answer.evidence, *answer.unseen))
        if self.enabled and not cut_short:
            key = self._asked(versions, rung, how)
            Cache(self.graph.root).store_findings(key, json.dumps(asdict(answer)).encode())
        return answer

    def known(self, versions: Versions, rung: str, how: str) -> Answer | None:
        """The answer that is remembered, None where there is none."""
        if not self.enabled:
            return None
        return _decode(Cache(self.graph.root).findings(self._asked(versions, rung, how)))

    def _asked(self, versions: Versions, rung: str, how: str) -> str:
        asked = [("rung", rung), ("how", how), ("format", _FORMAT), ("code", _code())]
        files = self._key((versions.before, versions.after), versions.specs)
        return Cache(self.graph.root).full_key([files], flags.toolchain(), asked)

    def code(self, how: str) -> Keep:
        """Remembers the device code of single units; ``how`` is as above. A module of which one source changes need not
        be compiled whole, and the version before is compiled once."""

        def keep(tree: Tree, spec: TuSpec, make: Callable[[], DeviceCode]) -> DeviceCode:
            if not self.enabled:
                return make()
            cache = Cache(self.graph.root)
            asked = [("device code", how), ("format", _FORMAT), ("code", _code())]
            key = cache.full_key([self._key([tree], [spec])], flags.toolchain(), asked)
            try:
                return from_bytes(cache.findings(key) or b"", spec)
            except (ValueError, TypeError, zlib.error):
                made = make()
            if not _CUT_SHORT.search(made.problem):
                cache.store_findings(key, to_bytes(made))
            return made

        return keep

    def _key(self, trees: Sequence[Tree], specs: Sequence[TuSpec]) -> str:
        digest = hashlib.sha256(flags.stubs_digest().encode())
        for tree in trees:
            graph = self._graph(tree)
            for spec in specs:
                digest.update(repr(spec).encode())
                for path in sorted(graph.closure_of(spec.source)):
                    if graph.is_file(path) or path == spec.source:
                        digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
                        digest.update(hashlib.sha256(_read(tree.read, path)).digest())
        return digest.hexdigest()

    def _graph(self, tree: Tree) -> IncludeGraph:
        if id(tree) not in self._graphs:
            self._graphs[id(tree)] = self.graph.with_overlay(tree.overlay) if tree.overlay else self.graph
        return self._graphs[id(tree)]


@cache
def _code() -> str:
    """A key for what compares: an answer of other code is not this one's."""
    digest = hashlib.sha256(torchless.__version__.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(read: Callable[[str], bytes], path: str) -> bytes:
    try:
        return read(path)
    except OSError:
        return b""


def _decode(body: bytes | None) -> Answer | None:
    try:
        row = json.loads(body or b"")
        return Answer(
            row["name"],
            Verdict(row["verdict"]),
            row["detail"],
            tuple(row["evidence"]),
            tuple(row["unseen"]),
            figures=tuple((name, tuple(values)) for name, values in row["figures"]),
        )
    except (ValueError, TypeError, KeyError):
        return None

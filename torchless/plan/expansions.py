"""Which edits of macros a translation unit can see: a macro that nothing it reads names is no part of what it compiles.

So the check of a unit depends on the text that it compiles alone. A header with a macro for each module, a row each,
would otherwise make every change of one row a new text for the units of all the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from torchless.facts.model import Diagnostic, TuFacts
from torchless.facts.typing import make_view
from torchless.model import Edit
from torchless.plan.assemble import Assembled
from torchless.plan.decide import Reader
from torchless.text.edits import offset_map
from torchless.units.entities import Entity, EntityIndex, entities_of

_WORD = re.compile(rb"[A-Za-z_]\w*")
_KEPT = 8192  # texts; a project has some thousand
Names = frozenset[bytes]


class Expansions:
    """The edits that units see; ``edited`` holds the edits by path, ``printed`` the texts that are on no disk."""

    def __init__(
        self,
        edited: Mapping[str, Sequence[Edit]],
        assembled: Assembled,
        index: EntityIndex,
        read: Reader,
        printed: Mapping[str, bytes],
    ) -> None:
        self._edited = edited
        self._assembled = assembled
        self._read = read
        self._printed = printed
        self._index = _with_files(index, edited, read)
        self._in_macros = {path: found for path in edited if (found := self._by_macro(path))}

    def seen(self, facts: TuFacts, reached: Iterable[str], created: Iterable[bytes] = ()) -> tuple[Edit, ...]:
        """The edits of the files ``reached`` less those of macros that neither a text nor the compiler speaks of.

        ``created`` are further texts that the unit reads.
        """
        files = sorted(set(reached))
        elsewhere = self._names(created)
        out: list[Edit] = []
        for path in files:
            own = self._in_macros.get(path)
            if own is None:
                out += self._edited.get(path, ())
                continue
            named = self._named(path, files, elsewhere | _compiled(self._index, path, facts))
            unseen = {edit for macro, edits in own.items() if macro not in named for edit in edits}
            out += (edit for edit in self._edited[path] if edit not in unseen)
        return tuple(out)

    def _by_macro(self, path: str) -> dict[bytes, list[Edit]]:
        """Macro -> the edits inside of it."""
        out: dict[bytes, list[Edit]] = {}
        for edit in self._edited[path]:
            entity = self._index.at(path, edit.start)
            if entity is not None and entity.kind == "macro" and edit.end <= entity.end:
                out.setdefault(entity.name.encode("latin-1"), []).append(edit)
        return out

    def _named(self, path: str, files: Iterable[str], known: Names) -> set[bytes]:
        """``known`` and the macros that one of ``files`` names, ``path`` outside of its macros, or a macro found so."""
        macros = [entity for entity in self._index.of_file(path) if entity.kind == "macro"]
        bodies = {entity: self._names(self._texts_of(path, entity)) for entity in macros}
        found = set(known | self._names(self._outside(path, macros)))
        found.update(*(self._names(self._texts(other)) for other in files if other != path))
        while True:
            more: set[bytes] = set()
            for entity, names in bodies.items():
                if entity.name.encode("latin-1") in found:
                    more |= names
            if more <= found:
                return found
            found |= more

    def _names(self, texts: Iterable[bytes]) -> Names:
        out: Names = frozenset()
        for text in texts:
            out |= _named_in(text, self._index.macros)
        return out

    def _texts(self, path: str) -> list[bytes]:
        """A file as it is and as it will be; nothing for one that is not in the checkout."""
        after = self._assembled.texts.get(path)
        before = self._printed.get(path)
        if before is None:
            try:
                before = self._read(path).data
            except OSError:
                before = b""
        return [before] if after is None else [before, after]

    def _texts_of(self, path: str, macro: Entity) -> list[bytes]:
        """What a macro expands to, as it is and as it will be; in pieces."""
        edits = self._in_macros[path].get(macro.name.encode("latin-1"), ())
        return [self._texts(path)[0][macro.start : macro.end], *(edit.new for edit in edits)]

    def _outside(self, path: str, macros: Sequence[Entity]) -> list[bytes]:
        """The text of a file that lies in none of its macros, and what is put there; in pieces."""
        text = self._texts(path)[0]
        out = []
        done = 0
        for entity in macros:
            out.append(text[done : entity.start])
            done = max(done, entity.end)
        inside = {edit for edits in self._in_macros[path].values() for edit in edits}
        return [*out, text[done:], *(edit.new for edit in self._edited[path] if edit not in inside)]


def in_full(diagnostic: Diagnostic, edits: Iterable[Edit], assembled: Assembled) -> Diagnostic:
    """``diagnostic`` of a text that only ``edits`` were made in, where it is in the text with all edits."""
    everything = assembled.edits.get(diagnostic.path, ())
    mine = [edit for edit in edits if edit.path == diagnostic.path]
    if len(mine) == len(everything):
        return diagnostic
    here, there = offset_map(mine), offset_map(everything)
    old = here.old(diagnostic.offset)
    if old is not None:
        offset = there.new(old)
    else:
        edit = max((e for e in here.edits if here.new(e.start) <= diagnostic.offset), key=lambda e: here.new(e.start))
        offset = there.new(edit.start) + diagnostic.offset - here.new(edit.start)
    text = assembled.texts[diagnostic.path]
    return replace(diagnostic, offset=offset, line=text.count(b"\n", 0, offset) + 1)


def _with_files(index: EntityIndex, paths: Iterable[str], read: Reader) -> EntityIndex:
    """``index`` and what lies in those of ``paths`` that it does not know: files without torch may have rows, too."""
    others = [path for path in paths if not index.of_file(path)]
    return index.joined(entity for path in others for entity in entities_of(make_view(read(path)))) if others else index


def _compiled(index: EntityIndex, path: str, facts: TuFacts) -> Names:
    """The macros of ``path`` in whose bodies the compiler saw a name."""
    entities = (index.at(path, n.offset) for file in facts.files if file.path == path for n in file.names)
    return frozenset(e.name.encode("latin-1") for e in entities if e is not None and e.kind == "macro")


@lru_cache(maxsize=_KEPT)
def _named_in(text: bytes, names: Names) -> Names:
    return names.intersection(_WORD.findall(text))

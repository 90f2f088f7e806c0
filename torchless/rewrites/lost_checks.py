"""Dtype checks that go away with the typed accessor come back as one statement.

``x.data_ptr<float>()`` threw when x was of another dtype; ``static_cast<float*>(x.data_ptr())`` reads what is there.
For a concrete T the dtype is checked; for the type that a dispatch macro gives (scalar_t), the dtype of each tensor
must be that of the tensor dispatched on. A check stands where every way on comes by the accessor, so that nothing is
refused which was accepted before; where that cannot be said, the finding has no edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchless.facts.typing import FileView, canonical, qualified_start, token_at
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.rewrites.dtypes import WITHOUT_COUNTERPART, enumerator
from torchless.rewrites.heads import parameters, split_arguments
from torchless.rewrites.insertion import line_before
from torchless.rewrites.scopes import Block, Scopes, scopes_of
from torchless.rewrites.statements import (
    Statement,
    always_runs,
    enclosing_call,
    nested_blocks,
    returns_between,
    statements,
)
from torchless.rewrites.typed_accessors import TypedAccess, typed_accesses
from torchless.text.lexer import Kind, match_angle

_CODE = "TL310"
_DISPATCH = re.compile(r"\w*DISPATCH\w*")
_CHECKS = frozenset({b"TORCH_CHECK", b"AITER_CHECK", b"TORCH_INTERNAL_ASSERT", b"TORCH_CHECK_EQ"})
_DTYPE_MEMBERS = frozenset({b"dtype", b"scalar_type"})
_MAKERS = frozenset({"at::empty", "at::zeros", "at::ones", "at::full", "at::empty_strided"})
_WIDTH = 100
_NO_VARIABLE = "the expression would be evaluated once more"


@dataclass(frozen=True, slots=True)
class _Demand:
    """One comparison to be made: ``text`` is the condition, ``tensor`` the variable, ``expected`` words for people."""

    tensor: str
    expected: str
    text: str
    at: tuple[int, ...]  # the member tokens of the accesses behind it


def restore_checks(view: FileView) -> list[Finding]:
    """Findings (TL310) for the dtype checks that each function of ``view`` loses, grouped by place.

    A finding with an edit inserts one AITER_CHECK; one without says which checks are lost and why they cannot be put
    back. TL295 blocks where the element type has no counterpart in the target at all.
    """
    scopes = scopes_of(view)
    by_function: dict[int, list[TypedAccess]] = {}
    out: list[Finding] = []
    for access in typed_accesses(view, scopes):
        if access.type in WITHOUT_COUNTERPART:
            out.append(_no_counterpart(view, access))
            continue
        block = scopes.function_of(access.member)
        if view.tokens[access.member].directive or block is None or not access.name:
            in_macro = bool(view.tokens[access.member].directive)
            why = "a macro body has no place for a check" if in_macro else _NO_VARIABLE
            out.append(_lost(view, [access.member], [access.shown], why))
            continue
        by_function.setdefault(block.open, []).append(access)
    for opener, found in by_function.items():
        block = scopes.blocks[scopes.block_at[opener]]
        out += _Restorer(view, scopes, block, found).findings()
    return out


class _Restorer:
    """Works out the checks of one function."""

    def __init__(self, view: FileView, scopes: Scopes, block: Block, found: list[TypedAccess]) -> None:
        self.view = view
        self.scopes = scopes
        self.block = block
        self.found = found
        self.tokens = view.tokens
        self.names = {
            self.tokens[p.name].text.decode("latin-1") for p in parameters(scopes, block.params) if p.name >= 0
        }
        self.names |= self._template_names()

    def _template_names(self) -> set[str]:
        """The names in the function's template head, parameters among them."""
        head = self.block.head
        close = match_angle(self.tokens, head + 1) if self.tokens[head].text == b"template" else -1
        return (
            {t.text.decode("latin-1") for t in self.tokens[head:close] if t.kind is Kind.NAME} if close > 0 else set()
        )

    def findings(self) -> list[Finding]:
        """One finding with an edit per place, then one for what cannot be put back."""
        demands, out = self._demands()
        placed: dict[int, list[_Demand]] = {}
        order: list[tuple[int, int]] = []  # statement start, first access
        for demand in demands:
            at = self._place(demand, self.block.open + 1, self.block.close - 1)
            if at is None:
                why = "it is read on some paths only, inside a lambda or an expression"
                out.append(_lost(self.view, list(demand.at), [demand.tensor], why))
                continue
            placed.setdefault(at.first, []).append(demand)
            order.append((at.first, demand.at[0]))
        for first, group in self._merged(placed):
            finding = self._check(first, group)
            if finding is None:
                members = [m for d in group for m in d.at]
                out.append(_lost(self.view, members, [d.tensor for d in group], "there is no line for it"))
            else:
                out.append(finding)
        return out

    def _merged(self, placed: dict[int, list[_Demand]]) -> list[tuple[int, list[_Demand]]]:
        """Checks of later statements join the first one when the function cannot be left, or branch, in between."""
        groups: list[tuple[int, list[_Demand]]] = []
        for first in sorted(placed):
            if groups:
                earlier, group = groups[-1]
                same = self._list_of(earlier) == self._list_of(first)
                if same and not returns_between(self.scopes, earlier, first) and self._known(placed[first], earlier):
                    group.extend(placed[first])
                    continue
            groups.append((first, list(placed[first])))
        return groups

    def _list_of(self, index: int) -> int:
        """What tells apart the statement lists of the function: the brace around the statement."""
        return self.scopes.block_of[index]

    def _known(self, demands: list[_Demand], index: int) -> bool:
        return all(self._in_scope(name, index) for d in demands for name in _names_in(d.text))

    def _demands(self) -> tuple[list[_Demand], list[Finding]]:
        out: list[Finding] = []
        demands: list[_Demand] = []
        by_tensor: dict[str, list[TypedAccess]] = {}
        for access in self.found:
            by_tensor.setdefault(access.name, []).append(access)
        for name, accesses in by_tensor.items():
            types = {a.type for a in accesses}
            if self._is_checked(name):
                continue
            if "" in types:
                why = "an #if decides on the type"
                out.append(_lost(self.view, [a.member for a in accesses if not a.type], [name], why))
                continue
            if len(types) > 1:
                continue  # read as several types: the code chooses by dtype itself
            if self._is_made_here(name):
                continue  # nobody outside has a say in its dtype
            at = tuple(a.member for a in accesses)
            if accesses[0].dtype:
                if not self._is_chosen_by(name):
                    expected = f"dtype {accesses[0].dtype} for {name}"
                    test = f"== {enumerator(accesses[0].dtype)}"
                    demands.append(_Demand(name, expected, self._comparison(accesses, test), at))
                continue
            reference = self._reference(accesses)
            if reference == name:
                continue
            if not reference:
                why = f"nobody knows which dtype {accesses[0].type} stands for here"
                out.append(_lost(self.view, list(at), [name], why))
                continue
            test = f"== {reference}.dtype()"
            demands.append(_Demand(name, f"the dtype of {reference} for {name}", self._comparison(accesses, test), at))
        return demands, out

    def _comparison(self, accesses: list[TypedAccess], test: str) -> str:
        access = accesses[0]
        conditions = {a.condition for a in accesses}
        if not access.optional:
            plain = f"{access.name}.dtype() {test}"
            guard = conditions.pop() if len(conditions) == 1 else ""
            return f"({_negated(guard)} || {plain})" if guard else plain
        guard = conditions.pop() if len(conditions) == 1 else ""
        guard = guard or f"{access.name}.has_value()"
        # a condition about something else does not say that there is a value: .value() throws as it did
        value = "->" if access.name in _names_in(guard) else ".value()."
        return f"({_negated(guard)} || {access.name}{value}dtype() {test})"

    def _reference(self, accesses: list[TypedAccess]) -> str:
        """The tensor whose dtype is dispatched to give the type of the accesses; "" when nobody knows."""
        found: set[str] = set()
        for access in accesses:
            found.add(self._reference_of(access))
        return found.pop() if len(found) == 1 else ""

    def _reference_of(self, access: TypedAccess) -> str:
        tokens = self.tokens
        opener = enclosing_call(self.scopes, access.first)
        i = access.first
        while i > self.block.open:
            opener = self.scopes.enclosing(i)
            if opener <= self.block.open:
                return ""
            head = tokens[opener - 1]
            if tokens[opener].text == b"(" and head.kind is Kind.NAME:
                subjects = self._subjects(opener) if _DISPATCH.fullmatch(head.text.decode("latin-1")) else []
                if subjects:
                    return self._subject_for(access, opener, subjects)
            i = opener
        return ""

    def _subjects(self, opener: int) -> list[str]:
        """The tensors whose dtype is an argument of the dispatch call, in order."""
        out = []
        for first, last in split_arguments(self.scopes, opener):
            words = [t.text for t in self.tokens[first : last + 1]]
            is_dtype = len(words) == 5 and words[1] == b"." and words[2] in _DTYPE_MEMBERS and words[3:] == [b"(", b")"]
            if is_dtype:
                out.append(words[0].decode("latin-1"))
            elif len(words) == 1 and self.tokens[first].kind is Kind.NAME:
                subject = self._subject_of_local(words[0])
                if subject:
                    out.append(subject)
        return out

    def _subject_of_local(self, name: bytes) -> str:
        """x for a local that was initialised with ``x.scalar_type()``."""
        for declaration in self.view.declarations.get(name, ()):
            first, last = declaration.init_first, declaration.init_last
            if first >= 0 and self.block.open < first < self.block.close:
                words = [t.text for t in self.tokens[first : last + 1]]
                if len(words) == 5 and words[1] == b"." and words[2] in _DTYPE_MEMBERS:
                    return words[0].decode("latin-1")
        return ""

    def _subject_for(self, access: TypedAccess, opener: int, subjects: list[str]) -> str:
        """Of the dispatched tensors the one that is read as the same type as ``access``; scalar_t is the only one's."""
        if len(subjects) == 1 and access.type == "scalar_t":
            return subjects[0]
        close = self.scopes.pair[opener]
        inside = {a.name for a in self.found if a.type == access.type and opener < a.member < close}
        same = [s for s in subjects if s in inside]
        return same[0] if len(same) == 1 else ""

    def _is_made_here(self, name: str) -> bool:
        """Is it a local whose only declaration in the function says ``= torch::empty(...);`` or the like?"""
        tokens = self.tokens
        at = [token_at(self.view, d.offset) for d in self.view.declarations.get(name.encode("latin-1"), ())]
        inside = [i for i in at if self.block.open < i < self.block.close]
        if len(inside) != 1 or name in self.names or tokens[inside[0] + 1].text != b"=":
            return False
        i = inside[0] + 2
        while i < self.block.close and tokens[i].text not in (b"(", b";"):
            i += 1
        close = self.scopes.pair.get(i, i)
        whole = qualified_start(self.view, i - 1) == inside[0] + 2 and tokens[close + 1].text == b";"
        return whole and canonical(self.view, i - 1) in _MAKERS

    def _is_checked(self, name: str) -> bool:
        """Does a check of the function compare the tensor's dtype with something?"""
        tokens = self.tokens
        for i in self._dtype_mentions(name):
            opener = enclosing_call(self.scopes, i)
            while opener > self.block.open:
                if tokens[opener - 1].text in _CHECKS:
                    first_argument = split_arguments(self.scopes, opener)[0]
                    return_here = tokens[opener - 1].text == b"TORCH_CHECK_EQ" or (
                        first_argument[0] <= i <= first_argument[1] and self._is_compared(i)
                    )
                    if return_here:
                        return True
                    break
                opener = enclosing_call(self.scopes, opener)
        return False

    def _is_chosen_by(self, name: str) -> bool:
        """Does the function branch on the tensor's dtype (if, switch, ?:, dispatch)?"""
        tokens = self.tokens
        for i in self._dtype_mentions(name):
            if self._is_compared(i):
                return True
            opener = enclosing_call(self.scopes, i)
            head = tokens[opener - 1].text if opener > 0 else b""
            if head == b"switch" or _DISPATCH.fullmatch(head.decode("latin-1")):
                return True
        return False

    def _dtype_mentions(self, name: str) -> Iterator[int]:
        tokens = self.tokens
        text = name.encode("latin-1")
        for i in range(self.block.open + 1, self.block.close - 2):
            if (
                tokens[i].text == text
                and tokens[i].kind is Kind.NAME
                and tokens[i - 1].text not in (b".", b"->", b"::")
            ):
                j = i + 1
                if [t.text for t in tokens[j : j + 4]] == [b".", b"value", b"(", b")"]:
                    j += 4
                if tokens[j].text in (b".", b"->") and tokens[j + 1].text in _DTYPE_MEMBERS:
                    yield i

    def _is_compared(self, index: int) -> bool:
        """``x.dtype() == y`` or ``y == x.dtype()`` for the x at ``index``."""
        tokens = self.tokens
        if tokens[index - 1].text in (b"==", b"!="):
            return True
        i = index
        while i < self.block.close and tokens[i].text not in _DTYPE_MEMBERS:
            i += 1
        close = self.scopes.pair.get(i + 1, i)
        return close + 1 < self.block.close and tokens[close + 1].text in (b"==", b"!=")

    # -- placing

    def _place(self, demand: _Demand, first: int, last: int) -> Statement | None:
        """The statement before which the check belongs: all ways on from it come by one of the accesses."""
        wanted = [self._outer(m) for m in demand.at]
        for statement in statements(self.scopes, first, last):
            inside = [m for m in demand.at if statement.first <= m <= statement.last]
            if not inside:
                continue
            if always_runs(self.scopes, statement.first, last, wanted, _runs_body):
                names = _names_in(demand.text)
                return statement if all(self._in_scope(n, statement.first) for n in names) else None
            for start, end in nested_blocks(self.scopes, statement):
                if all(start <= m <= end for m in demand.at):
                    return self._place(demand, start, end)
            return None
        return None

    def _outer(self, member: int) -> int:
        """A token that stands for the access: the ?: around a guarded one, else the access itself."""
        access = next(a for a in self.found if a.member == member)
        if not access.condition:
            return access.first
        i = access.first
        while i > self.block.open and self.tokens[i].text != b"?":
            i -= 1
        first = i - 1
        while first > self.block.open and self.tokens[first].text not in (b",", b"=", b"(", b";", b"return"):
            first = self.scopes.pair.get(first, first) if self.tokens[first].text == b")" else first
            first -= 1
        return first + 1

    def _in_scope(self, name: str, index: int) -> bool:
        """Is the variable known at the statement that starts at ``index``?"""
        if name in self.names:
            return True
        offset = self.tokens[index].start
        declarations = self.view.declarations.get(name.encode("latin-1"), ())
        if any(d.offset < offset < d.scope_end and d.scope_start < offset for d in declarations):
            return True
        # a local of any other type: declared in a statement list around the place
        for i in range(self.block.open + 1, index):
            token = self.tokens[i]
            if token.text != name.encode("latin-1") or token.kind is not Kind.NAME or token.directive:
                continue
            declares = self.tokens[i - 1].kind is Kind.NAME or self.tokens[i - 1].text in (b"&", b"*", b">")
            around = self.scopes.block_of[i]
            visible = any(self.scopes.block_at[b.open] == around for b in self.scopes.around(index))
            if declares and visible and self.tokens[i + 1].text in (b"=", b"{", b"(", b";"):
                return True
        return False

    def _check(self, first: int, group: list[_Demand]) -> Finding | None:
        place = line_before(self.view, self.block, first)
        if place is None:
            return None
        offset, indent = place
        source = self.view.source
        eol = source.eol_at(offset)
        group = sorted(group, key=lambda d: d.at)
        text = _statement_text(indent, group, eol)
        edit = Edit(source.path, offset, offset, text, _CODE, rank=-1)
        where = self.tokens[group[0].at[0]]
        names = ", ".join(d.tensor for d in group)
        return Finding(
            _CODE,
            f"the typed accessor checked the dtype of {names}: the check comes back as a statement",
            source.path,
            where.start,
            where.end,
            edits=(edit,),
            confidence=Confidence.SEMANTIC if where.start in self.view.facts else Confidence.SYNTACTIC,
            requires=("aiter_hip_common.h",),
        )


def _runs_body(name: str) -> bool:
    return _DISPATCH.fullmatch(name) is not None


def _negated(condition: str) -> str:
    simple = re.fullmatch(r"!?[\w.>\-]+(?:\(\))?", condition)
    if simple:
        return condition[1:] if condition.startswith("!") else f"!{condition}"
    return f"!({condition})"


def _names_in(text: str) -> set[str]:
    """The variables that a condition of ours mentions."""
    found = re.findall(r"(?<![\w.>:])[A-Za-z_]\w*(?!\w*\s*(?:\(|::))", text)
    return {n for n in found if not n.startswith("AITER_DTYPE_") and n not in ("true", "false", "nullptr")}


def _statement_text(indent: bytes, group: list[_Demand], eol: bytes) -> bytes:
    """The AITER_CHECK, on one line when it fits, else a condition a line and the message wrapped at blanks."""
    conditions = list(dict.fromkeys(d.text for d in group))
    if len(conditions) == 1 and conditions[0].startswith("("):
        conditions = [conditions[0][1:-1]]
    expected: dict[str, list[str]] = {}
    for demand in group:
        what, _, tensor = demand.expected.rpartition(" for ")
        expected.setdefault(what, []).append(tensor)
    message = "; ".join(f"{what} for {', '.join(dict.fromkeys(tensors))}" for what, tensors in expected.items())
    message = f": expected {message}"
    head = indent.decode("latin-1") + "AITER_CHECK("
    line = f'{head}{" && ".join(conditions)}, __func__, "{message}");'
    if len(line) <= _WIDTH:
        return line.encode("latin-1") + eol
    pad = " " * len(head)
    if len(conditions) > 1:
        pad_more = pad + "    "
        lines = [
            f"{head}{conditions[0]} &&",
            *(f"{pad_more}{c} &&" for c in conditions[1:-1]),
            f"{pad_more}{conditions[-1]},",
        ]
    else:
        lines = [f"{head}{conditions[0]},"]
    literals = [f'{pad}"{text}"' for text in _wrapped(message, max(_WIDTH - len(pad) - len('"");'), 40))]
    lines += [f"{pad}__func__,", *literals[:-1], f"{literals[-1]});"]
    return eol.join(text.encode("latin-1") for text in lines) + eol


def _wrapped(text: str, width: int) -> list[str]:
    """``text`` in pieces of at most ``width`` characters: broken behind a ; if that will do, else at blanks."""
    pieces = [""]
    for clause in re.findall(r"[^;]+(?:; |$)", text):
        for part in [clause] if len(clause) <= width else re.findall(r"\S+\s*", clause):
            if pieces[-1] and len(pieces[-1]) + len(part) > width:
                pieces.append("")
            pieces[-1] += part
    return pieces


def _lost(view: FileView, members: list[int], names: list[str], why: str) -> Finding:
    token = view.tokens[members[0]]
    return Finding(
        _CODE,
        f"the typed accessor checked the dtype of {', '.join(dict.fromkeys(names))}; the check is lost: {why}",
        view.source.path,
        token.start,
        token.end,
        tier=Tier.DISPLAY,
    )


def _no_counterpart(view: FileView, access: TypedAccess) -> Finding:
    token = view.tokens[access.member]
    return Finding(
        "TL295",
        f"elements of type {access.type}: the target has no such dtype",
        view.source.path,
        token.start,
        token.end,
        tier=Tier.DISPLAY,
        blocks=True,
        help="convert to a dtype that the target has in Python, or keep this function on torch",
    )

"""Follows a variable from its declaration to a place: what it holds there.

Single assignments, steps, changed elements and choices are followed; a choice becomes a conditional expression. What a
loop, a switch, a lambda, a reference or a call may have changed is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchless.hoisting import arithmetic, choices, coercion, sizes
from torchless.hoisting.declared import Declared, declares
from torchless.hoisting.following import inside
from torchless.hoisting.locals import Local
from torchless.hoisting.nodes import Name
from torchless.hoisting.number_types import LONG
from torchless.hoisting.terms import Array, Refused, Scalar, Term
from torchless.hoisting.writes import Write, in_lambda, writes
from torchless.rewrites.scopes import BlockKind
from torchless.rewrites.statements import Statement, statements
from torchless.text.lexer import Kind

if TYPE_CHECKING:
    from torchless.hoisting.frames import Frame

State = Callable[[], Term]
"""What a variable holds at a place; worked out only when it is asked for."""


def traced(frame: Frame, node: Name, index: int, declared: Declared, initial: State) -> Term:
    """What the variable ``node`` (at the token ``index``), which starts as ``initial``, holds there. Raises Refused."""
    arms = frame.file.arms
    there, here = arms.get(declared.index, ()), arms.get(index, ())
    if there != here[: len(there)]:
        raise Refused(f"`{node.text}` depends on an #if", node.offset)
    local = declared.local
    if local is not None and local.const and not local.reference:
        return initial()
    spelled = frame.type(declared.type)

    def assigned(term: Term, offset: int) -> Term:
        """``term`` as the variable holds it."""
        if spelled != "auto":
            return coercion.coerce(term, spelled, offset)
        first = initial()
        is_number = isinstance(term, Scalar) and isinstance(first, Scalar)
        return arithmetic.convert(term, first.type, offset) if is_number else term  # type: ignore[arg-type,union-attr]

    tracer = _Tracer(frame, node.text, "Tensor" in declared.type, node.offset, assigned)
    if local is not None and local.reference:
        if any(w.index != local.name for w in tracer.writes_in(declared.block.open, declared.block.close)):
            raise Refused(f"`{node.text}` is a reference through which something is changed", node.offset)
        _check_referred(frame, local, node)
        return initial()
    start = declared.statement.last + 1 if declared.statement else declared.block.open + 1
    state = tracer.past_list(start, declared.block.close - 1, index, initial)
    if state is initial:
        return initial()
    function = frame.function
    if function is not None and any(t.text == b"goto" for t in frame.file.tokens[function.open : function.close]):
        raise Refused(f"`{node.text}` is changed in a function with a goto", node.offset)
    found = state()
    return coercion.coerce(found, spelled, node.offset) if spelled != "auto" else found


def _check_referred(frame: Frame, local: Local, node: Name) -> None:
    """Refuse a reference to what is changed behind its declaration: it would show the change."""
    tokens, function = frame.file.tokens, frame.function
    end = function.close if function is not None else local.end
    for i in range(local.init[0], local.init[1] + 1):
        if tokens[i].kind is Kind.NAME and tokens[i - 1].text not in (b".", b"->", b"::"):
            name = tokens[i].text.decode("latin-1")
            whole = local.init[0] == local.init[1] and "Tensor" not in local.type
            tracer = _Tracer(frame, name, not whole, node.offset)
            if tracer.writes_in(local.end + 1, end):
                raise Refused(f"`{node.text}` is a reference to `{name}`, which changes", node.offset)


@dataclass(frozen=True, slots=True)
class _Tracer:
    """Follows the variable ``name`` through statements; ``offset`` is where it is asked for.

    ``assigned`` makes of a value what the variable holds once it is assigned to it.
    """

    frame: Frame
    name: str
    is_tensor: bool
    offset: int
    assigned: Callable[[Term, int], Term] = lambda term, offset: term

    def writes_in(self, first: int, last: int) -> list[Write]:
        """The places in the token range that may change it."""
        takes_values = self.frame.definitions.takes_values
        return writes(self.frame.file.scopes, self.name, first, last, takes_values, is_tensor=self.is_tensor)

    def refuse(self, reason: str, offset: int | None = None) -> State:
        """A state that cannot be said."""

        def state() -> Term:
            raise Refused(f"`{self.name}` {reason}", self.offset if offset is None else offset)

        return state

    def past_list(self, first: int, last: int, index: int, state: State) -> State:
        """The state behind the statements first..last, or at ``index`` when it lies in one of them."""
        for statement in statements(self.frame.file.scopes, first, last) if first <= last else ():
            if statement.first > index:
                break
            if statement.first <= index <= statement.last:
                return self._into(statement, index, state)
            state = self._past(statement, index, state)
        return state

    def _into(self, statement: Statement, index: int, state: State) -> State:
        """The state at ``index``, which lies within ``statement``."""
        scopes = self.frame.file.scopes
        for branch in statement.branches:
            if branch[0] <= index <= branch[1]:
                loops = statement.word in ("for", "while", "do", "switch")
                if loops and self.writes_in(statement.first, statement.last):
                    return self.refuse(f"is changed in the {statement.word} around it")
                if statement.condition >= 0 and self.writes_in(statement.condition, scopes.pair[statement.condition]):
                    return self.refuse("is changed in a condition")
                return self.past_list(*inside(scopes.tokens, branch), index, state)
        held = [b for b in scopes.around(index) if statement.first <= b.open <= statement.last]
        if held:
            outer = held[-1]
            if outer.kind is BlockKind.LAMBDA:
                function = self.frame.function
                end = function.close if function is not None else statement.last
                if self.writes_in(outer.close, end):
                    return self.refuse("is changed behind a lambda that reads it")
            if outer.kind is not BlockKind.INITIALIZER:
                if self.writes_in(statement.first, outer.open):
                    return self.refuse("is changed in the same statement")
                return self.past_list(outer.open + 1, outer.close - 1, index, state)
        for write in self.writes_in(statement.first, index - 1):
            if write.index != statement.first or write.how not in ("assign", "element", "mutate"):
                return self.refuse("is changed in the same statement")
        return state

    def _past(self, statement: Statement, index: int, state: State) -> State:
        found = self.writes_in(statement.first, statement.last)
        if not found:
            return state
        scopes = self.frame.file.scopes
        arms = self.frame.file.arms
        offset, here = scopes.tokens[found[0].index].start, arms.get(index, ())
        for write in found:
            around = arms.get(write.index, ())
            if around != here[: len(around)]:
                return self.refuse("is changed under an #if", offset)
            if in_lambda(scopes, write.index, statement.first):
                return self.refuse("is changed in a lambda", offset)
            if declares(scopes, write.index):
                return self.refuse("is declared twice", offset)
        if statement.word == "if":
            return self._past_choice(statement, index, state)
        if statement.word == "{":
            first, last = inside(scopes.tokens, statement.branches[0])
            return self.past_list(first, last, last + 1, state)
        if statement.word in ("for", "while", "do", "switch"):
            return self.refuse(f"is changed in a {statement.word}", offset)
        assigned = found[0].index == statement.first and found[0].how == "assign"
        if len(found) > 1 and not (assigned and all(w.how == "passed" for w in found[1:])):
            return self.refuse("is changed twice in one statement", offset)
        return self._past_simple(statement, found[0], state)

    def _past_choice(self, statement: Statement, index: int, state: State) -> State:
        scopes = self.frame.file.scopes
        close = scopes.pair[statement.condition]
        if self.writes_in(statement.condition, close):
            return self.refuse("is changed in a condition")
        arms: list[State | None] = []
        for branch in statement.branches:
            first, last = inside(scopes.tokens, branch)
            arms.append(None if self._leaves(first, last) else self.past_list(first, last, last + 1, state))
        if not statement.complete:
            arms.append(state)
        then, other = arms
        if then is None or other is None:
            return then or other or self.refuse("is never reached")

        def chosen() -> Term:
            try:
                condition = self.frame.condition(statement.condition + 1, close - 1)
            except Refused:
                agreed = choices.agreed(then(), other())
                if agreed is None:
                    raise
                return agreed
            if condition.constant is not None:
                return then() if condition.constant else other()
            return choices.select(condition, then(), other(), scopes.tokens[statement.first].start)

        return chosen

    def _leaves(self, first: int, last: int) -> bool:
        """True when the statements first..last never go on behind them."""
        scopes = self.frame.file.scopes
        found = statements(scopes, first, last) if first <= last else []
        if not found:
            return False
        end = found[-1]
        if end.word in ("return", "throw"):
            return True
        if end.word == "if" and end.complete:
            return all(self._leaves(*inside(scopes.tokens, b)) for b in end.branches)
        word = scopes.tokens[end.first].text
        fails = word in _CHECKS and scopes.tokens[end.first + 2].text == b"false"
        return word == b"AT_ERROR" or fails

    def _past_simple(self, statement: Statement, write: Write, state: State) -> State:
        frame, scopes = self.frame, self.frame.file.scopes
        tokens, offset = scopes.tokens, scopes.tokens[write.index].start
        if write.how == "passed":
            opener = scopes.enclosing(write.index)
            return self.refuse(f"may be changed by `{tokens[opener - 1].text.decode('latin-1')}`", offset)
        if write.how == "address":
            return self.refuse("has its address taken", offset)
        if write.how == "alias":
            reference = tokens[write.index - 2].text.decode("latin-1")
            function = frame.function
            end = function.close if function is not None else statement.last
            through = _Tracer(frame, reference, self.is_tensor, self.offset).writes_in(write.index, end)
            return self.refuse("is bound to a reference", offset) if through else state
        first, last = statement.first, statement.last - 1
        if write.how == "step" and last - first == 1:
            sign = tokens[first].text if write.index == last else tokens[last].text
            operator = "+" if sign == b"++" else "-"
            return lambda: self._operated(operator, state(), arithmetic.constant(1), offset)
        if write.index != first or write.how == "step":
            return self.refuse("is changed within an expression", offset)
        if write.how == "element":
            return lambda: self._element(first, last, state(), offset)
        if write.how == "mutate":
            return lambda: self._mutated(first, last, state(), offset)
        sign = tokens[first + 1].text
        if sign == b"=":
            return lambda: self.assigned(frame.evaluate(first + 2, last), offset)
        width = 2 if sign == b">" else 1
        operator = ">>" if sign == b">" else sign[:-1].decode("latin-1")
        return lambda: self._operated(operator, state(), frame.evaluate(first + 1 + width, last), offset)

    def _operated(self, operator: str, left: Term, right: Term, offset: int) -> Term:
        if not isinstance(left, Scalar) or not isinstance(right, Scalar):
            raise Refused(f"`{self.name}` is changed in a way that is not followed", offset)
        return arithmetic.convert(arithmetic.operate(operator, left, right, offset), left.type, offset)

    def _element(self, first: int, last: int, state: Term, offset: int) -> Term:
        """``shape[0] = n``, ``shape.back() = n``."""
        tokens, pair = self.frame.file.tokens, self.frame.file.scopes.pair
        known: int | None = None
        if tokens[first + 1].text == b"[":
            close = pair[first + 1]
            place = self.frame.evaluate(first + 2, close - 1)
            known = place.constant if isinstance(place, Scalar) else None
            known = None if known is not None and known < 0 else known
        else:
            close = pair[first + 3]
            known = {b"front": 0, b"back": -1}.get(tokens[first + 2].text) if close == first + 4 else None
        if known is None or tokens[close + 1].text != b"=" or not isinstance(state, Array):
            raise Refused(f"an element of `{self.name}` is changed, but which?", offset)
        return sizes.with_element(state, known, self._size(close + 2, last, offset), offset)

    def _mutated(self, first: int, last: int, state: Term, offset: int) -> Term:
        """``shape.push_back(n)``, ``shape.pop_back()``."""
        tokens, pair = self.frame.file.tokens, self.frame.file.scopes.pair
        word, opener = tokens[first + 2].text, first + 3
        if isinstance(state, Array) and tokens[opener].text == b"(" and pair.get(opener) == last:
            if word in (b"push_back", b"emplace_back"):
                return Array((*state.parts, self._size(opener + 1, last - 1, offset)))
            if word == b"pop_back":
                shorter = sizes.with_element(state, -1, arithmetic.constant(0), offset)
                return Array(shorter.parts[:-1])
        raise Refused(f"`{self.name}` is changed by `{word.decode('latin-1')}`", offset)

    def _size(self, first: int, last: int, offset: int) -> Scalar:
        value = self.frame.evaluate(first, last)
        if not isinstance(value, Scalar):
            raise Refused(f"an element of `{self.name}` is not known", offset)
        return arithmetic.convert(value, LONG, offset)


_CHECKS = frozenset({b"TORCH_CHECK", b"AITER_CHECK", b"TORCH_INTERNAL_ASSERT"})

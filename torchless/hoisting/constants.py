"""Names from outside of functions: constants, enumerators, macros without parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchless.hoisting import arithmetic
from torchless.hoisting.definitions import Constant, Enumerator, Macro
from torchless.hoisting.nodes import Name
from torchless.hoisting.terms import Refused, Scalar, Term
from torchless.rewrites.scopes import BlockKind

if TYPE_CHECKING:
    from torchless.hoisting.frames import Frame


def constant_value(frame: Frame, node: Name) -> Term:
    """What ``node`` stands for outside of functions. Raises Refused when nobody knows, or when it is not the same
    everywhere."""
    root = node.text.partition("::")[0].partition("<")[0]
    function = frame.function
    if function is not None and any(b.kind is BlockKind.CLASS for b in frame.file.scopes.around(function.open)):
        raise Refused(f"`{node.text}` may be a member of the class", node.offset)
    if root in frame.template():
        raise Refused(f"it depends on the template parameter `{root}`", node.offset)
    found = [d for d in frame.definitions.of(node.text, frame.owner) if isinstance(d, Constant | Macro | Enumerator)]
    if not found:
        raise Refused(f"`{node.text}` is no local, no parameter and no constant of the files at hand", node.offset)
    answers = []
    for definition in found:
        try:
            answers.append(_value(frame, node, definition))
        except Refused as refused:
            raise Refused(f"`{node.text}`: {refused.reason}", node.offset) from refused
    if any(a != answers[0] for a in answers):
        raise Refused(f"`{node.text}` is not the same everywhere", node.offset)
    return answers[0]


def _value(frame: Frame, node: Name, definition: Constant | Macro | Enumerator) -> Term:
    if isinstance(definition, Constant):
        inner = frame.inner(definition.file, None, None, definition.template, owner=definition.owner)
        return inner.initialised(definition.local)
    inner = frame.inner(definition.file, None, None, (), owner=definition.owner)
    if isinstance(definition, Enumerator):
        if definition.scoped and "::" not in node.text:
            raise Refused("an enumerator that goes by the name of its enum", node.offset)
        if definition.scoped:
            raise Refused("an enumerator is no number by itself", node.offset)
        return _enumerator(inner, definition.name)
    return _macro(inner, node, definition)


def _macro(inner: Frame, node: Name, macro: Macro) -> Term:
    tokens = macro.file.tokens
    if macro.params is not None or macro.first > macro.last:
        raise Refused("a macro that is not followed", node.offset)
    for arm in macro.file.arms.get(macro.first, ()):
        if tokens[arm + 1].text == b"ifndef" and tokens[arm + 2].text == node.text.encode("latin-1"):
            raise Refused("it can be set from outside", node.offset)
    whole = tokens[macro.first].text == b"(" and macro.file.scopes.pair.get(macro.first) == macro.last
    if macro.first < macro.last and not whole:
        raise Refused("a macro whose text is not in parentheses", node.offset)
    return inner.evaluate(macro.first, macro.last)


def _enumerator(inner: Frame, index: int) -> Scalar:
    """An enumerator as a number: its own initialiser, or one more than the one before it."""
    tokens, pair = inner.file.tokens, inner.file.scopes.pair
    offset, steps = tokens[index].start, 0
    while tokens[index + 1].text != b"=":
        if tokens[index - 1].text == b"{":
            return arithmetic.constant(steps)
        steps += 1
        index -= 2
        while tokens[index - 1].text not in (b",", b"{"):
            index = pair.get(index, index) - 1 if tokens[index].text in (b")", b"}") else index - 1
    end = index + 2
    while tokens[end].text not in (b",", b"}"):
        end = pair.get(end, end) + 1 if tokens[end].text in (b"(", b"{") else end + 1
    base = inner.evaluate(index + 2, end - 1)
    if not isinstance(base, Scalar):
        raise Refused("its value is not known", offset)
    return arithmetic.operate("+", base, arithmetic.constant(steps), offset)

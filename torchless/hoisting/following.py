"""Functions and macros of the files at hand, followed to what they give.

A function is followed when every way through it ends in a return: choices, locals and returns. Loops, static variables
and what runs on the device are not followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchless.hoisting import coercion
from torchless.hoisting.choices import select
from torchless.hoisting.declared import parameter_type
from torchless.hoisting.definitions import Function, Macro
from torchless.hoisting.names import asks_device
from torchless.hoisting.nodes import Name
from torchless.hoisting.spelling import type_text
from torchless.hoisting.terms import Refused, Scalar, Term
from torchless.rewrites.heads import parameters
from torchless.rewrites.scopes import Block, Scopes
from torchless.rewrites.statements import Statement, statements
from torchless.text.lexer import Kind, Token

if TYPE_CHECKING:
    from torchless.hoisting.frames import Frame


def follow(frame: Frame, node: Name, arguments: Sequence[Term]) -> Term | None:
    """What ``node(arguments)`` gives; None when no function or macro of that name and length is at hand.

    Raises Refused when it cannot be followed, or when several of that name give different things.
    """
    answers = []
    for definition in frame.definitions.of(node.text, frame.owner):
        try:
            if isinstance(definition, Function) and _takes(definition, len(arguments)):
                answers.append(_call_function(frame, node, definition, arguments))
            elif isinstance(definition, Macro) and _length(definition) == len(arguments):
                answers.append(_call_macro(frame, definition, arguments))
        except Refused as refused:
            asked = _asked_of_device(definition) if isinstance(definition, Function) else ""
            reason = f"it depends on the device (`{asked}`)" if asked else refused.reason
            raise Refused(f"`{node.text}`: {reason}", node.offset) from refused
    if any(a != answers[0] for a in answers):
        raise Refused(f"there are several functions `{node.text}`", node.offset)
    return answers[0] if answers else None


def inside(tokens: Sequence[Token], branch: tuple[int, int]) -> tuple[int, int]:
    """A branch without its braces."""
    first, last = branch
    return (first + 1, last - 1) if tokens[first].text == b"{" else branch


def _asked_of_device(function: Function) -> str:
    """A function that the body of ``function`` calls to ask what the device can do, or ""."""
    tokens = function.file.tokens
    for i in range(function.block.open, function.block.close):
        name = tokens[i].text.decode("latin-1")
        if tokens[i].kind is Kind.NAME and tokens[i + 1].text == b"(" and asks_device(name):
            return name
    return ""


def _length(macro: Macro) -> int:
    """How many parameters it has, -1 without a list of them."""
    return -1 if macro.params is None else len(macro.params)


def _takes(function: Function, count: int) -> bool:
    found = parameters(function.file.scopes, function.block.params)
    least = sum(p.default_first < 0 for p in found)
    return least <= count <= len(found)


def _call_function(frame: Frame, node: Name, function: Function, arguments: Sequence[Term]) -> Term:
    scopes, block = function.file.scopes, function.block
    words = {t.text for t in scopes.tokens[block.head : block.open]}
    macros = [w for w in words if w.isupper() and w.endswith(b"DEVICE")]  # CK_TILE_DEVICE, CK_TILE_HOST_DEVICE
    on_device = b"__device__" in words or bool(macros)
    on_host = b"__host__" in words or any(b"HOST" in w for w in macros)
    if b"__global__" in words or (on_device and not on_host):
        raise Refused("it runs on the device", node.offset)
    types = _said_types(frame, node, function)
    bound = _bound(frame, node, function, arguments, types)
    inner = frame.inner(function.file, block, bound, function.template, types, function.owner)
    body = statements(scopes, block.open + 1, block.close - 1)
    return _returned(inner, body, _return_type(scopes, block))


def _said_types(frame: Frame, node: Name, function: Function) -> dict[str, str]:
    """The types that the call says for the template parameters: ``round_up<int>(...)``."""
    if len(node.template) > len(function.template):
        raise Refused("it is made for more types than it has", node.offset)
    out = {}
    for name, spelled in zip(function.template, node.template, strict=False):
        plain = frame.type(spelled)
        if coercion.kind_of(plain) != "number":
            raise Refused(f"it is made for {spelled}", node.offset)
        out[name] = plain
    return out


def _bound(
    frame: Frame, node: Name, function: Function, arguments: Sequence[Term], types: dict[str, str]
) -> dict[str, Term]:
    """The values of the parameters; those with defaults that are not given stay out. Adds deduced ``types``."""
    scopes = function.file.scopes
    out: dict[str, Term] = {}
    said = set(types)
    for parameter, argument in zip(parameters(scopes, function.block.params), arguments, strict=False):
        if parameter.name < 0:
            continue
        spelled = frame.type(parameter_type(scopes, parameter))
        name = scopes.tokens[parameter.name].text.decode("latin-1")
        if spelled in function.template and spelled not in said:
            if not isinstance(argument, Scalar) or argument.type.kind == "string":
                raise Refused("what it is made for is not known", node.offset)
            if types.setdefault(spelled, argument.type.name) != argument.type.name:
                raise Refused("it gets arguments of different types", node.offset)
            out[name] = argument
        else:
            out[name] = coercion.coerce(argument, types.get(spelled, spelled), node.offset)
    return out


def _returned(inner: Frame, body: Sequence[Statement], spelled: str) -> Term:
    """What the statements return, as a value of the type ``spelled``."""
    scopes = inner.file.scopes
    for i, statement in enumerate(body):
        tokens = scopes.tokens[statement.first : statement.last + 1]
        offset = tokens[0].start
        if inner.file.arms.get(statement.first) or any(t.directive for t in tokens):
            raise Refused("its body depends on an #if", offset)
        if statement.word == "return":
            found = inner.evaluate(statement.first + 1, statement.last - 1)
            return coercion.coerce(found, inner.type(spelled), offset)
        if not any(t.text in (b"return", b"goto") for t in tokens):
            continue
        if statement.word != "if" or any(t.text == b"goto" for t in tokens):
            raise Refused("its body is more than choices and returns", offset)
        condition = inner.condition(statement.condition + 1, scopes.pair[statement.condition] - 1)
        arms = [statements(scopes, *inside(scopes.tokens, b)) for b in statement.branches]
        rest = list(body[i + 1 :])
        then = _returned(inner, [*arms[0], *rest], spelled)
        other = _returned(inner, [*(arms[1] if statement.complete else []), *rest], spelled)
        return select(condition, then, other, offset)
    raise Refused("a way through it ends without a return", 0)


_NO_TYPE = frozenset(
    b"static inline constexpr __host__ __device__ __forceinline__ extern const virtual friend explicit".split()
)


def _return_type(scopes: Scopes, block: Block) -> str:
    """The return type in the head of a function, as spelled."""
    words = list(scopes.tokens[block.head : block.params])
    while words and words[0].text == b"template":
        depth, end = 0, 1
        for end in range(1, len(words)):
            depth += {b"<": 1, b">": -1}.get(words[end].text, 0)
            if not depth:
                break
        words = words[end + 1 :]
    end = len(words) - 1
    while end >= 2 and words[end - 1].text == b"::":
        end -= 2
    return type_text([t for t in words[:end] if t.text not in _NO_TYPE and not _is_macro(t)])


def _is_macro(token: Token) -> bool:
    """True for what looks like a macro that stands for attributes: upper case, words joined by _."""
    return token.kind is Kind.NAME and token.text.isupper() and b"_" in token.text


def _call_macro(frame: Frame, macro: Macro, arguments: Sequence[Term]) -> Term:
    tokens, params = macro.file.tokens, macro.params or ()
    offset = tokens[macro.first].start if macro.first < len(tokens) else 0
    if tokens[macro.first].text != b"(" or macro.file.scopes.pair.get(macro.first) != macro.last:
        raise Refused("a macro whose text is not in parentheses", offset)
    for i in range(macro.first, macro.last + 1):
        if tokens[i].text.decode("latin-1") in params:
            alone = tokens[i - 1].text in (b"(", b",") and tokens[i + 1].text in (b")", b",")
            if not alone:
                raise Refused("a macro that does not keep its arguments together", offset)
    inner = frame.inner(macro.file, None, dict(zip(params, arguments, strict=True)), ())
    return inner.evaluate(macro.first, macro.last)

"""How a tensor that torch passed by value is passed afterwards.

A torch::Tensor is a handle, so people pass it by value; the target's tensor is 160 bytes of plain data, so it goes by
const reference, except where the function body changes its copy. Declaration and definition must agree, and they live
in different files: each definition is read for what its body does, and the answers are merged over all files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from torchless.facts.typing import FileView
from torchless.rewrites.heads import Parameter, function_name, parameters, qualified_name, split_arguments
from torchless.rewrites.scopes import Block, BlockKind, Scopes, find_scopes
from torchless.rewrites.tensor_types import (
    Role,
    TensorUse,
    declares_function,
    parameter_position,
    tensor_uses,
)
from torchless.text.lexer import Kind


class Passing(IntEnum):
    """How a parameter is passed; of two answers for one parameter the greater one holds."""

    CONST_REFERENCE = 0  # const aiter_tensor_t& x
    VALUE = 1  # aiter_tensor_t x, std::optional<aiter_tensor_t> x
    REFERENCE = 2  # an optional that the function writes back to its caller


# (qualified function name, number of parameters, position of the parameter)
ParameterKey = tuple[str, int, int]

# takes_reference(name, position): does a function of that (unqualified) name take that argument by reference to
# non-const? None when nobody knows.
TakesReference = Callable[[str, int], "bool | None"]


def passing_of(
    view: FileView, scopes: Scopes | None = None, takes_reference: TakesReference | None = None
) -> dict[ParameterKey, Passing]:
    """What the function definitions of one file ask for: every by-value tensor and non-const optional& parameter."""
    scopes = scopes or find_scopes(view.tokens)
    uses = tensor_uses(view, scopes)
    bodies = {b.params: b for b in scopes.blocks if b.params >= 0}
    pointed_at = any(u.role is Role.FUNCTION_TYPE and not u.sign and u.optional is None for u in uses)
    here = _reference_takers(scopes)

    def takes(name: str, position: int) -> bool | None:
        known = here(name, position)
        return known if known is not None or takes_reference is None else takes_reference(name, position)

    out: dict[ParameterKey, Passing] = {}
    for use in uses:
        if use.role is not Role.PARAMETER or use.parameters not in bodies or not _is_open(use):
            continue
        key = parameter_key(scopes, use)
        if key is None:
            continue
        passing = passing_in_body(scopes, use, bodies[use.parameters], takes)
        if use.keeps:
            passing = Passing.VALUE  # the alias says "by value" wherever it stands
        if use.optional is None and pointed_at and _is_mentioned(scopes, key[0].rsplit("::", 1)[-1].encode()):
            passing = Passing.VALUE
        out[key] = max(passing, out.get(key, passing))
    for key in _hidden(view, scopes, uses):
        out[key] = Passing.VALUE
    return out


def merge_passing(maps: Iterable[Mapping[ParameterKey, Passing]]) -> dict[ParameterKey, Passing]:
    """One answer per parameter over many files."""
    out: dict[ParameterKey, Passing] = {}
    for one in maps:
        for key, passing in one.items():
            out[key] = max(passing, out.get(key, passing))
    return out


def parameter_key(scopes: Scopes, use: TensorUse) -> ParameterKey | None:
    """The key of the parameter that ``use`` is the type of; None for lambdas, constructors and function types."""
    position, count = parameter_position(scopes, use)
    if position < 0 or not declares_function(scopes, use.parameters):
        return None
    return qualified_name(scopes, function_name(scopes, use.parameters)), count, position


def passing_in_body(scopes: Scopes, use: TensorUse, body: Block, takes: TakesReference) -> Passing:
    """What the body of the function or lambda asks for the parameter that ``use`` is the type of."""
    optional = use.optional is not None
    changed = Passing.REFERENCE if optional else Passing.VALUE
    unchanged = Passing.VALUE if optional else Passing.CONST_REFERENCE
    if use.const_before >= 0 or use.const_after >= 0 or use.name < 0:
        return unchanged
    return changed if _is_changed(scopes, scopes.tokens[use.name].text, body, takes) else unchanged


def _is_open(use: TensorUse) -> bool:
    """True for the uses whose passing is in question: a by-value tensor, a non-const reference to an optional."""
    if use.optional is None:
        return not use.sign
    return use.sign == "&" and use.const_before < 0 and use.const_after < 0


_ASSIGNMENTS = frozenset({b"=", b"+=", b"-=", b"*=", b"/="})
_WRITERS = frozenset({b"reset", b"emplace", b"swap"})
# Calls that take a name without keeping a reference to it. Macros among them expand to member calls on it.
_HARMLESS = frozenset({"TORCH_CHECK", "AITER_CHECK", "device_of", "sizeof", "static_cast", "if", "while", "switch"})


def _is_changed(scopes: Scopes, name: bytes, body: Block, takes: TakesReference) -> bool:
    tokens = scopes.tokens
    for i in range(body.open + 1, body.close):
        token = tokens[i]
        if token.text != name or token.kind is not Kind.NAME or tokens[i - 1].text in (b".", b"->", b"::"):
            continue
        before, after = tokens[i - 1].text, tokens[i + 1].text
        if after in _ASSIGNMENTS:
            return True
        if after in (b".", b"->") and tokens[i + 2].text in _WRITERS:
            return True
        if after == b"." and tokens[i + 2].text == b"value" and tokens[min(i + 5, body.close)].text == b"=":
            return True
        if before == b"&" and tokens[i - 2].text in (b"(", b",", b"=", b"return", b"{"):
            return True  # its address
        if before == b"*" and after in _ASSIGNMENTS:
            return True
        if before == b"=" and _binds_reference(scopes, i):
            return True
        bare = before in (b"(", b",", b"{") and after in (b",", b")", b"}")
        if bare and not _is_harmless_argument(scopes, i, takes):
            return True
    # a macro of this file may assign to the name where it is expanded
    return any(
        tokens[i].text == name and tokens[i + 1].text in _ASSIGNMENTS and tokens[i - 1].text not in (b".", b"->")
        for i in range(1, len(tokens) - 1)
        if tokens[i].directive == "define"
    )


def _binds_reference(scopes: Scopes, index: int) -> bool:
    """``T& y = x``: is the name at ``index`` bound to a reference to non-const?"""
    tokens = scopes.tokens
    declared = index - 2
    if declared < 1 or tokens[declared].kind is not Kind.NAME or tokens[declared - 1].text != b"&":
        return False
    i = declared - 2
    while i > 0 and tokens[i].text not in (b";", b"{", b"}", b"("):
        if tokens[i].text == b"const":
            return False
        i -= 1
    return True


def _is_harmless_argument(scopes: Scopes, index: int, takes: TakesReference) -> bool:
    tokens = scopes.tokens
    opener = scopes.enclosing(index)
    if opener < 1:
        return False
    if tokens[opener].text != b"(":
        return False
    callee = opener - 1
    name = function_name(scopes, opener) if tokens[callee].text == b">" else callee
    if name < 0 or tokens[name].kind is not Kind.NAME:
        return tokens[callee].text in (b"(", b"=", b",", b"!", b"&&", b"||", b"<<")  # a mere parenthesis
    word = tokens[name].text.decode("latin-1")
    if word in _HARMLESS:
        return True
    if tokens[name].text in (b"return", b"case"):
        return True
    for position, (first, last) in enumerate(split_arguments(scopes, opener)):
        if first <= index <= last:
            return takes(word, position) is False
    return False


def _reference_takers(scopes: Scopes) -> TakesReference:
    """What the functions and macros of this file do with their arguments, by unqualified name."""
    tokens = scopes.tokens
    found: dict[tuple[str, int], bool] = {}
    for opener in _parameter_lists(scopes):
        name = tokens[function_name(scopes, opener)].text.decode("latin-1")
        for position, parameter in enumerate(parameters(scopes, opener)):
            key = (name, position)
            found[key] = found.get(key, False) or _is_mutable_reference(scopes, parameter)
    for name, position, harmless in _macro_parameters(scopes):
        found[(name, position)] = found.get((name, position), False) or not harmless
    return lambda name, position: found.get((name, position))


def _parameter_lists(scopes: Scopes) -> Iterable[int]:
    tokens = scopes.tokens
    for i, token in enumerate(tokens):
        if token.text == b"(" and token.kind is Kind.PUNCT and i in scopes.pair and not token.directive:
            block = scopes.at(i)
            if block is not None and block.kind not in (BlockKind.NAMESPACE, BlockKind.CLASS):
                continue
            if declares_function(scopes, i):
                yield i


def _is_mutable_reference(scopes: Scopes, parameter: Parameter) -> bool:
    texts = [t.text for t in scopes.tokens[parameter.first : parameter.last + 1]]
    if b"&" in texts or b"*" in texts or b"&&" in texts:
        return b"const" not in texts
    return b"auto" in texts and b"&" in texts


def _macro_parameters(scopes: Scopes) -> Iterable[tuple[str, int, bool]]:
    """(macro, position, harmless) of each parameter of the file's macros.

    Harmless is a parameter that its macro only takes members of, turns into text or into a condition.
    """
    tokens = scopes.tokens
    for end in sorted(scopes.macro_heads):
        if tokens[end].text != b")":
            continue
        opener = scopes.pair[end]
        stop = end + 1
        while stop < len(tokens) and tokens[stop].directive == "define" and tokens[stop].kind is not Kind.DIRECTIVE:
            stop += 1
        for position, (first, last) in enumerate(split_arguments(scopes, opener)):
            if first > last:
                continue
            uses = [i for i in range(end + 1, stop) if tokens[i].text == tokens[first].text]
            harmless = all(
                tokens[i - 1].text == b"#" or (i + 1 < stop and tokens[i + 1].text in (b".", b"->")) for i in uses
            )
            yield tokens[opener - 1].text.decode("latin-1"), position, harmless


def _is_mentioned(scopes: Scopes, name: bytes) -> bool:
    """True when ``name`` stands somewhere without a call: its address may be taken."""
    tokens = scopes.tokens
    return any(
        t.text == name and t.kind is Kind.NAME and i + 1 < len(tokens) and tokens[i + 1].text not in (b"(", b"<")
        for i, t in enumerate(tokens)
    )


def _hidden(view: FileView, scopes: Scopes, uses: list[TensorUse]) -> Iterable[ParameterKey]:
    """Parameters that the compiler knows to be tensors by value, whose type is spelled by something else (a macro)."""
    visible = {view.tokens[u.name].start for u in uses if u.name >= 0}
    for function in view.functions:
        for position, parameter in enumerate(function.params):
            if parameter.type != "tensor" or "&" in parameter.spelled or "*" in parameter.spelled:
                continue
            names = [i for i, t in enumerate(view.tokens) if parameter.start <= t.start < parameter.end]
            if not names or any(view.tokens[i].start in visible for i in names):
                continue
            if not any(parameter.start <= view.tokens[u.first].start < parameter.end for u in uses):
                name = view.index_at.get(function.name_start, -1)
                if name >= 0:
                    yield qualified_name(scopes, name), len(function.params), position

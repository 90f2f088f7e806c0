"""What a C++ expression stands for, given what its names stand for."""

from __future__ import annotations

import re

from torchless.hoisting import arithmetic, coercion, factories, members, sizes, std_calls, torch_calls
from torchless.hoisting.arithmetic import constant
from torchless.hoisting.choices import equal, select
from torchless.hoisting.names import Names, asks_device
from torchless.hoisting.nodes import (
    Binary,
    Boolean,
    Braces,
    Call,
    Cast,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    Number,
    SizeOf,
    String,
    Ternary,
    Unary,
)
from torchless.hoisting.number_types import ULONG, number_type
from torchless.hoisting.terms import (
    FALSE,
    TRUE,
    Array,
    Device,
    DType,
    Group,
    Null,
    Opaque,
    Optional,
    Options,
    Refused,
    Scalar,
    Tensor,
    Term,
    checked,
)
from torchless.hoisting.torch_names import CPP_SIZES


def evaluate(node: Node, names: Names) -> Term:
    """The term that ``node`` stands for. Raises Refused with the offset of what cannot be said in Python."""
    found = _evaluate(node, names)
    if isinstance(found, Scalar | DType | Device):
        checked(found.text, node.offset)
    return found


def known(node: Node, names: Names) -> Term:
    """As evaluate, for a place where a value is wanted that something can be said about."""
    found = evaluate(node, names)
    if isinstance(found, Opaque):
        raise Refused(found.reason, found.offset)
    return found


def scalar(node: Node, names: Names) -> Scalar:
    """``node`` where a number, a truth value or a string is wanted."""
    found = known(node, names)
    if isinstance(found, Scalar):
        return found
    raise Refused("a number was expected here", node.offset)


def condition(node: Node, names: Names) -> Scalar:
    """``node`` as a truth value."""
    found = known(node, names)
    if isinstance(found, Optional):
        return found.present
    if isinstance(found, Scalar):
        return arithmetic.as_truth(found, node.offset)
    raise Refused("a condition was expected here", node.offset)


def _evaluate(node: Node, names: Names) -> Term:
    if isinstance(node, Number):
        return arithmetic.literal(node)
    if isinstance(node, Boolean):
        return TRUE if node.value else FALSE
    if isinstance(node, String):
        return arithmetic.string_literal(node.value)
    if isinstance(node, Name):
        return _name(node, names)
    if isinstance(node, Member):
        return _data_member(node, names)
    if isinstance(node, Call):
        return _call(node, names)
    if isinstance(node, Index):
        return _index(node, names)
    if isinstance(node, Cast):
        return _cast(node, names)
    if isinstance(node, Unary):
        return _unary(node, names)
    if isinstance(node, Binary):
        return _binary(node, names)
    if isinstance(node, Ternary):
        return _ternary(node, names)
    if isinstance(node, Braces):
        return Group(tuple(evaluate(item, names) for item in node.items))
    if isinstance(node, SizeOf):
        return _sizeof(node, names)
    if isinstance(node, Lambda):
        raise Refused("a lambda is not followed", node.offset)
    raise Refused("this expression is not understood", node.offset)


def _name(node: Name, names: Names) -> Term:
    if names.is_local(node):
        return names.value(node)
    found: Term | None = torch_calls.project_dtype(node.text)
    if found is None:
        found = torch_calls.constant_of(names.canonical(node))
    if found is None:
        found = torch_calls.trait(node.text, names, node.offset)
    if found is None and node.text in ("std::nullopt", "nullptr"):
        found = Null()
    return names.value(node) if found is None else found


def _data_member(node: Member, names: Names) -> Term:
    found = known(node.object, names)
    if isinstance(found, Group) and node.name in ("first", "second") and len(found.items) == 2:
        return found.items[0 if node.name == "first" else 1]
    raise Refused(f"the member `{node.name}` is not known here", node.offset)


def _index(node: Index, names: Names) -> Term:
    found = known(node.object, names)
    if isinstance(found, Tensor):
        raise Refused("an element of a tensor needs its contents", node.offset)
    if isinstance(found, Array):
        from_end = _from_end(node)
        if from_end:
            return sizes.element(found, constant(-from_end), node.offset, wraps=True)
        return sizes.element(found, scalar(node.index, names), node.offset, wraps=False)
    raise Refused("what is indexed here is not known", node.offset)


def _from_end(node: Index) -> int:
    """k of ``sizes[sizes.size() - k]``, 0 for another index."""
    index = node.index
    if not isinstance(index, Binary) or index.operator != "-" or not isinstance(index.right, Number):
        return 0
    call, owner = index.left, node.object
    same = (
        isinstance(call, Call)
        and isinstance(call.callee, Member)
        and isinstance(call.callee.object, Name)
        and isinstance(owner, Name)
        and call.callee.object.text == owner.text
        and call.callee.name == "size"
    )
    return int(index.right.value) if same else 0


def _cast(node: Cast, names: Names) -> Term:
    if node.kind in ("reinterpret_cast", "dynamic_cast"):
        raise Refused(f"a {node.kind} is not followed", node.offset)
    found = evaluate(node.operand, names)
    if node.kind == "const_cast":
        return found
    return coercion.coerce(found, names.type(node.type), node.offset)


def _unary(node: Unary, names: Names) -> Term:
    if node.operator == "&":
        raise Refused("an address is not followed", node.offset)
    if node.operator == "!":
        return arithmetic.unary("!", condition(node.operand, names), node.offset)
    found = known(node.operand, names)
    if node.operator == "*":
        if isinstance(found, Optional):
            return found.held
        raise Refused("what a pointer points to is not followed", node.offset)
    if isinstance(found, Scalar):
        return arithmetic.unary(node.operator, found, node.offset)
    raise Refused("a number was expected here", node.offset)


def _binary(node: Binary, names: Names) -> Term:
    if node.operator in ("&&", "||"):
        left, right = condition(node.left, names), condition(node.right, names)
        return arithmetic.operate(node.operator, left, right, node.offset)
    a, b = known(node.left, names), known(node.right, names)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return arithmetic.operate(node.operator, a, b, node.offset)
    same = equal(a, b, node.offset) if node.operator in ("==", "!=") else None
    if same is None:
        raise Refused(f"what {node.operator} works on is not known here", node.offset)
    return arithmetic.unary("!", same, node.offset) if node.operator == "!=" else same


def _ternary(node: Ternary, names: Names) -> Term:
    chosen = condition(node.condition, names)
    if chosen.constant is None:
        return select(chosen, evaluate(node.then, names), evaluate(node.other, names), node.offset)
    taken, other = (node.then, node.other) if chosen.constant else (node.other, node.then)
    found = evaluate(taken, names)
    if not isinstance(found, Scalar):
        return found
    # the arm that is not taken has a say in the type
    passed_over = scalar(other, names)
    then, otherwise = (found, passed_over) if chosen.constant else (passed_over, found)
    return arithmetic.select(chosen, then, otherwise, node.offset)


def _sizeof(node: SizeOf, names: Names) -> Term:
    spelled = names.type(node.what)
    kind = number_type(coercion.number_of(spelled))
    if kind is not None:
        return constant(max(kind.bits // 8, 1), ULONG)
    if spelled.endswith("*") and node.operand is None:
        return constant(8, ULONG)
    size = CPP_SIZES.get(re.sub(r"^(?:torch|c10)::", "at::", spelled))
    if size is not None:
        return constant(size, ULONG)
    if node.operand is not None and not (isinstance(node.operand, Name) and not names.is_local(node.operand)):
        found = evaluate(node.operand, names)
        if isinstance(found, Scalar) and found.type.kind != "string":
            return constant(max(found.type.bits // 8, 1), ULONG)
        if isinstance(found, DType):
            raise Refused("sizeof of a dtype is the size of the C++ object, not of an element", node.offset)
    raise Refused(f"the size of {spelled} is not known here", node.offset)


def _call(node: Call, names: Names) -> Term:
    if isinstance(node.callee, Member):
        return _member_call(node, node.callee, names)
    if isinstance(node.callee, Name):
        return _function(node, node.callee, names)
    raise Refused("what is called here is not known", node.offset)


def _arguments(node: Call, names: Names) -> list[Term]:
    return [known(a, names) for a in node.arguments]


def _member_call(node: Call, callee: Member, names: Names) -> Term:
    found = known(callee.object, names)
    offset = callee.offset
    if callee.arrow and isinstance(found, Optional):
        if callee.name == "defined":  # Python has no undefined tensors: there is one, or None
            return found.present
        found = found.held
    if isinstance(found, Options):
        if callee.name == "layout" and [a.text for a in node.arguments if isinstance(a, Name)] == ["torch::kStrided"]:
            return found
        return torch_calls.options_member(found, callee.name, callee.template, _arguments(node, names), names, offset)
    if isinstance(found, Tensor) and callee.name in factories.MEMBERS:
        made = factories.made_by(callee.name, _arguments(node, names), names, offset, found)
        return factories.as_tensor(made, offset)
    if isinstance(found, Tensor) and callee.name in members.CONTENTS:
        raise Refused(f"`{callee.name}` needs the tensor's contents", offset)
    return members.member(found, callee.name, _arguments(node, names), offset)


def unknown_call(name: str) -> str:
    """Why the result of a function that nobody knows cannot be said in Python."""
    if asks_device(name):
        return f"it depends on the device (`{name}`)"
    return f"it calls `{name}`, whose body is not at hand or cannot be followed"


def _function(node: Call, callee: Name, names: Names) -> Term:
    name, offset = callee.text, callee.offset
    if names.is_local(callee):
        raise Refused(f"`{name}` is called, a lambda or an object that is not followed", offset)
    canonical = names.canonical(callee)
    if not canonical and name in torch_calls.FOUND_BY_ARGUMENT:
        canonical = f"at::{name}"
    found: Term | None = None
    if canonical.startswith("at::"):
        plain = canonical.removeprefix("at::")
        if plain in factories.FOREIGN:
            raise Refused(f"{plain} makes a tensor out of more than a shape", offset)
        if plain in torch_calls.KNOWN:
            found = torch_calls.framework_call(plain, callee.template, _arguments(node, names), names, offset)
    elif torch_calls.project_dtype(name) is not None and not node.arguments:
        found = torch_calls.project_dtype(name)
    else:
        spelled = names.type(name + (f"<{','.join(callee.template)}>" if callee.template else ""))
        if coercion.kind_of(spelled) in ("array", "optional", "string", "number"):
            found = std_calls.construct(spelled, _arguments(node, names), braces=node.braces, offset=offset)
        elif name.startswith("std::"):
            found = std_calls.std_call(name, callee.template, _arguments(node, names), names, offset)
        else:
            found = names.call(callee, _arguments(node, names))
            if found is None:
                found = std_calls.library_call(name, _arguments(node, names), offset)
            if found is None and name in ("max", "min"):  # HIP's own, of one type each
                found = std_calls.extreme(name, callee.template, _arguments(node, names), names, offset)
    if found is None:
        raise Refused(unknown_call(name), offset)
    return found

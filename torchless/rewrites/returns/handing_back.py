"""From what a C++ function gives back to the Python function that does it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from torchless.project.model import PyOp
from torchless.rewrites.returns.lifted import Added, Expression
from torchless.rewrites.returns.model import Contract, Own
from torchless.rewrites.returns.philox import OFFSET, SEED
from torchless.rewrites.returns.reading import PLACE, Shape
from torchless.rewrites.wrappers import ADVANCES, NUMBER, NotSplit, Wrapping

_HOLDS = {  # of hoisting.terms.Assumption
    "float": "is a number that single precision holds",
    "finite": "is finite",
    "nonzero": "is not zero",
    "shift count": "is a shift count that its type has bits for",
}


def added_names(contract: Contract, bound: Sequence[str]) -> dict[str, str]:
    """What the added parameters are called in the binding, whose own names are ``bound``: by their C++ names."""
    taken = set(bound)
    out: dict[str, str] = {}
    for added in contract.added:
        names = (added.name, f"{added.name}_buffer", *(f"{added.name}{i}" for i in range(2, 99)))
        out[added.name] = next(n for n in names if n not in taken)
        taken.add(out[added.name])
    return out


def in_order(contract: Contract, own: Sequence[str], added: Sequence[str], kept: Sequence[str]) -> list[str]:
    """``own`` (one for each parameter) with the outputs ``added`` in front and the scratch ``kept`` where it goes."""
    return [*added, *own[: contract.at], *kept, *own[contract.at :]]


def wrapping(op: PyOp, contract: Contract, names: Sequence[str]) -> Wrapping:
    """What the public function of ``op`` does; ``names`` are those of the binding. Raises NotSplit."""
    own = [param.name for param in op.params]
    if len(own) != contract.key[1]:
        raise NotSplit(f"it has {len(own)} parameters and its C++ function {contract.key[1]}")
    bound = list(names) if len(names) == len(own) and all(names) else own
    renamed = added_names(contract, bound)
    at = contract.philox.position if contract.philox is not None else -1
    own_generator, bound_generator = (own[at], bound[at]) if at >= 0 else ("", "")
    locals_ = added_names(contract, own)
    before: list[str] = []
    for fill in contract.fills:
        name = own[fill.position]
        before.append(f"if {name} is None:\n    {name} = {_said(fill.value, own)}")
    philox = contract.philox
    if philox is not None:
        before += [f"if {_said(condition, own)}:\n    return" for condition in philox.unless]
    for query in contract.queries:
        if query.variable in own:
            raise NotSplit(f"its parameter {query.variable} is called as what it would ask C++ for")
        before.append(f"{query.variable} = {_said(Expression(query.call), own)}")
    if philox is not None:
        if {SEED, OFFSET} & set(own):
            raise NotSplit("it has parameters that are called as what the generator gives")
        asked = f"{own[philox.tensor]}, {own[philox.position]}, {philox.query.variable}"
        before.append(f"{SEED}, {OFFSET} = {ADVANCES}({asked})")
    for added in contract.added:
        value = _said(added.value, own)
        if added.condition is not None:
            value = f"{value} if {_said(added.condition, own)} else None"
        before.append(f"{locals_[added.name]} = {value}")
    tensor = next((p.annotation for p in op.params if re.fullmatch(r"(?:\w+\.)?Tensor", p.annotation)), "torch.Tensor")
    outputs, scratch = contract.outputs, contract.scratch
    numbers = dict(contract.numbers)
    passed = [f"[t.data_ptr() for t in {n}]" if i in contract.addresses else n for i, n in enumerate(own)]
    passed = [_number(n, numbers[i]) if i in numbers else n for i, n in enumerate(passed)]
    arguments = in_order(contract, passed, [locals_[a.name] for a in outputs], [locals_[a.name] for a in scratch])
    listed = in_order(contract, bound, [renamed[a.name] for a in outputs], [renamed[a.name] for a in scratch])
    kinds = in_order(
        contract,
        [_kind(contract, i, param.annotation) for i, param in enumerate(op.params)],
        [_annotation(a, tensor) for a in outputs],
        [_annotation(a, tensor) for a in scratch],
    )
    parameters: list[tuple[str, str]] = []
    for name, kind in zip(listed, kinds, strict=True):
        parameters += [(SEED, "int"), (OFFSET, "int")] if name == bound_generator else [(name, kind)]
    arguments = [f"{SEED}, {OFFSET}" if a == own_generator else a for a in arguments]
    given = [own[part.position] if isinstance(part, Own) else locals_[part.name] for part in contract.gives]
    is_list = contract.shape is Shape.LIST and not re.match(r"(?:\w+\.)?[tT]uple\b", op.returns.strip())
    result = f"[{', '.join(given)}]" if is_list else ", ".join(given)
    expressions = [f.value for f in contract.fills]
    for added in contract.added:
        expressions += [added.value] if added.condition is None else [added.value, added.condition]
    otherwise = ""
    tensors = [p.name for p in op.params if _is_tensor(p.annotation)]
    if contract.fallback is not None:
        otherwise = _said(contract.fallback.value, own)
        expressions.append(contract.fallback.value)
    expressions += list(philox.unless) if philox is not None else []
    imports = set().union(*(e.imports for e in expressions)) | ({"torch"} if tensor == "torch.Tensor" else set())
    imports |= {NUMBER} if numbers else set()
    helpers = set().union(*(e.helpers for e in expressions))
    value = op.returns.strip() if contract.shape is Shape.NONE else ""
    value = "" if value == "None" else value
    if value and philox is not None and philox.unless:
        raise NotSplit("it gives a value back where it leaves early")
    if op.has_gen_func and contract.fallback is not None:
        raise NotSplit("what tells how to build it does not know the dtypes that torch takes over")
    if op.has_gen_func and scratch and contract.at < len(own):
        raise NotSplit("what tells how to build it would have to leave arguments out")
    return Wrapping(
        tuple(arguments),
        tuple(parameters),
        result,
        tuple(before),
        tuple(sorted(imports)) if contract.added or contract.fills or contract.fallback or philox or numbers else (),
        tuple(sorted(helpers)),
        len(outputs),
        len(scratch),
        otherwise,
        tuple(tensors) if otherwise else (),
        tuple((q.name, q.parameters) for q in contract.queries),
        philox is not None,
        _assumed(expressions, own),
        value,
    )


def _is_tensor(annotation: str) -> bool:
    return (
        re.search(r"\bTensor\b", annotation) is not None and re.search(r"\b(?:[lL]ist|[tT]uple)\b", annotation) is None
    )


def _annotation(added: Added, tensor: str) -> str:
    if added.type:
        return {"float": "float", "double": "float", "bool": "bool"}.get(added.type, "int")
    return f"{tensor} | None" if added.condition is not None else tensor


def _kind(contract: Contract, position: int, annotation: str) -> str:
    """The annotation of a parameter of the private op, which is ``annotation`` in the public one."""
    numbers = dict(contract.numbers)
    if position in numbers:
        spelled = re.match(r"(?:typing\.)?Optional\[", annotation)
        optional = f"{spelled.group(0)}int]" if spelled else "int | None"
        return optional if numbers[position] else "int"
    return "list[int]" if position in contract.addresses else annotation


def _number(name: str, optional: bool) -> str:
    """The target's number of the dtype ``name``."""
    return f"{NUMBER}({name}) if {name} is not None else None" if optional else f"{NUMBER}({name})"


def _assumed(expressions: Iterable[Expression], own: Sequence[str]) -> tuple[str, ...]:
    """What has to hold for Python's values to be those of C++, in the parameters of the Python function."""
    subjects: dict[str, list[str]] = {}
    for assumption in sorted({a for e in expressions for a in e.assumptions}):
        subject = PLACE.sub(lambda match: own[int(match.group(1))], assumption.expression)
        held = subjects.setdefault(_HOLDS.get(assumption.type, f"fits {assumption.type}"), [])
        held += [subject] if subject not in held else []
    return tuple(
        f"each of {', '.join(of)} {holds}" if len(of) > 1 else f"{of[0]} {holds}" for holds, of in subjects.items()
    )


def _said(expression: Expression, own: Sequence[str]) -> str:
    """``expression`` in the parameters of the Python function. Raises NotSplit where one hides what it needs."""
    used = {own[int(n)] for n in PLACE.findall(expression.text)}
    hidden = used & expression.words
    if hidden:
        name = sorted(hidden)[0]
        raise NotSplit(f"its parameter {name} hides Python's {name}")
    return PLACE.sub(lambda match: own[int(match.group(1))], expression.text)

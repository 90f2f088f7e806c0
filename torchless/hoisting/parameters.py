"""Parameters of a launcher as Python has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from keyword import iskeyword

from torchless.hoisting import coercion
from torchless.hoisting.members import parameter_tensor
from torchless.hoisting.number_types import number_type
from torchless.hoisting.python import Text, binary
from torchless.hoisting.terms import (
    STRING,
    Array,
    Assumption,
    Device,
    DType,
    Optional,
    Refused,
    Rest,
    Scalar,
    Tensor,
    Term,
    Uses,
    truth,
)


def fragile(term: Term, name: str) -> Term:
    """``term``, which Python does not have where the optional parameter ``name`` is None."""
    more = Uses(fragile=frozenset({name}))
    if isinstance(term, Scalar | DType | Device):
        return replace(term, uses=term.uses | more)
    if isinstance(term, Tensor):
        return parameter_tensor(term.text.text, term.uses | more) if term.text is not None else term
    if isinstance(term, Array):
        return Array(tuple(replace(p, uses=p.uses | more) for p in term.parts))
    return term


def parameter_term(name: str, python: str, spelled: str, template: Sequence[str], offset: int) -> Term:
    """The parameter ``name`` of the C++ type ``spelled`` (no const, no &), which Python has as ``python``.

    Raises Refused for types that Python says nothing about here.
    """
    if not python.isidentifier() or iskeyword(python):
        raise Refused(f"`{python}` is no name in Python", offset)
    uses = Uses(parameters=frozenset({name}))
    text = Text(python)
    kind = coercion.kind_of(spelled)
    if kind == "optional":
        held = parameter_term(name, python, coercion.strip(coercion.optional_of(spelled)), template, offset)
        held = fragile(held, name)
        return Optional(held, truth(binary("is not", text, Text("None")), uses))
    if kind == "tensor":
        return parameter_tensor(python, uses)
    if kind == "number":
        number = number_type(coercion.number_of(spelled))
        assert number is not None
        if number.kind == "float":
            if number.bits == 32:
                uses = replace(uses, assumptions=frozenset({Assumption(python, "float")}))
            return Scalar(text, number, uses=uses)
        return Scalar(text, number, number.low, number.high, uses)
    if kind == "string":
        return Scalar(text, STRING, uses=uses)
    if kind == "dtype":
        return DType(text, uses)
    if kind == "array":
        return Array((Rest(text, uses),))
    if kind == "device":
        return Device(text, uses)
    root = re.split(r"\W", spelled)[0]
    if root in template:
        raise Refused(f"it depends on the template parameter `{root}`", offset)
    raise Refused(f"`{name}` is a {spelled}, which Python does not read here", offset)

"""What the names of a function stand for at a place in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torchless.facts.typing import canonical
from torchless.hoisting import arithmetic, coercion, evaluate, std_calls
from torchless.hoisting.constants import constant_value
from torchless.hoisting.declared import Declared, find_declared
from torchless.hoisting.definitions import Alias, Definitions, File, template_names
from torchless.hoisting.following import follow
from torchless.hoisting.locals import Local, read_locals
from torchless.hoisting.nodes import Name, Node, NotAnExpression
from torchless.hoisting.parameters import parameter_term
from torchless.hoisting.parser import parse
from torchless.hoisting.python import Text
from torchless.hoisting.spelling import is_builtin
from torchless.hoisting.terms import Device, Group, Optional, Refused, Scalar, Term
from torchless.hoisting.tracing import traced
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.scopes import Block
from torchless.rewrites.statements import statements
from torchless.text.lexer import Kind

DEEPEST = 12
"""How many functions and constants of the files at hand may lead from one to the next."""


@dataclass
class Frame:
    """The names within ``function`` of ``file``; without a function, those at file scope.

    ``arguments`` are the values of the parameters of a function or a macro that is followed; without them the
    parameters stand for themselves, ``names`` maps them to what Python calls them. ``hidden`` are names that must not
    be looked up at file scope (template parameters); ``types`` says which of them stand for a known type. ``owner`` is
    the class whose members need no qualifier.
    """

    file: File
    function: Block | None
    definitions: Definitions
    names: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Term] | None = None
    hidden: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    depth: int = 0
    _values: dict[tuple[str, int], Term] = field(default_factory=dict)
    _active: set[tuple[str, int]] = field(default_factory=set)

    def inner(
        self,
        file: File,
        function: Block | None,
        arguments: Mapping[str, Term] | None,
        hidden: Sequence[str],
        types: Mapping[str, str] | None = None,
        owner: str = "",
    ) -> Frame:
        """The frame of something that this one leads to. Raises Refused when it is the last of too many."""
        if self.depth >= DEEPEST:
            raise Refused("too many functions lead to one another", 0)
        return Frame(
            file, function, self.definitions, {}, arguments or {}, frozenset(hidden), types or {}, owner, self.depth + 1
        )

    # what names.Names asks for

    def value(self, node: Name) -> Term:
        """See names.Names."""
        index = self.index(node)
        key = (node.text, index)
        if key not in self._values:
            if key in self._active:
                raise Refused(f"`{node.text}` is defined by itself", node.offset)
            self._active.add(key)
            try:
                self._values[key] = self._value(node, index)
            finally:
                self._active.discard(key)
        return self._values[key]

    def is_local(self, node: Name) -> bool:
        """See names.Names."""
        if "::" in node.text:
            return False
        if self.function is None:
            return self.arguments is not None and node.text in self.arguments
        return find_declared(self.file, self.function, node.text, self.index(node)) is not None

    def canonical(self, node: Name) -> str:
        """See names.Names."""
        return canonical(self.file.view, self.index(node))

    def type(self, spelled: str) -> str:
        """See names.Names."""
        plain = coercion.strip(spelled)
        plain = self.types.get(plain, plain)
        for _ in range(DEEPEST):
            if is_builtin(plain) or coercion.kind_of(plain) or plain in self.template():
                break
            found = {d.type for d in self.definitions.of(plain, self.owner) if isinstance(d, Alias)}
            if len(found) != 1:
                break
            plain = coercion.strip(found.pop())
        return plain

    def call(self, node: Name, arguments: Sequence[Term]) -> Term | None:
        """See names.Names."""
        return follow(self, node, arguments)

    def current_device(self, offset: int) -> Device | None:
        """See names.Names. A guard counts when it stands before the place, in a block around it."""
        index = self.file.view.index_at.get(offset, -1)
        if index < 0 or self.function is None:
            raise Refused("the current device is not known here", offset)
        if self.depth:
            raise Refused("the current device of a function that is followed", offset)
        for block in self.file.scopes.around(index):
            for statement in reversed(statements(self.file.scopes, block.open + 1, block.close - 1)):
                if statement.last >= index:
                    continue
                for local in read_locals(self.file.scopes, statement.first, statement.last):
                    if "Guard" in local.type and local.init[0] <= local.init[1]:
                        return self._guarded(local, offset)
            if block.open == self.function.open:
                break
        return None

    def _guarded(self, local: Local, offset: int) -> Device:
        """The device that a guard is made with."""
        try:
            found = self.evaluate(*local.init)
        except Refused as refused:
            raise Refused("the device that a guard sets is not understood", refused.offset) from refused
        if isinstance(found, Optional):
            found = found.held
        if isinstance(found, Device):
            return found
        if isinstance(found, Scalar) and found.text.text.endswith(".get_device()"):
            return Device(Text(found.text.text.replace(".get_device()", ".device")), found.uses)
        raise Refused("the device that a guard sets is not understood", offset)

    # expressions by their tokens

    def index(self, node: Node) -> int:
        """Token index of the node."""
        return self.file.view.index_at[node.offset]

    def evaluate(self, first: int, last: int) -> Term:
        """The value of the tokens first..last. Raises Refused."""
        try:
            return evaluate.evaluate(parse(self.file.tokens, first, last), self)
        except NotAnExpression as error:
            raise Refused(error.reason, error.offset) from error

    def condition(self, first: int, last: int) -> Scalar:
        """The tokens first..last as a truth value. Raises Refused."""
        try:
            return evaluate.condition(parse(self.file.tokens, first, last), self)
        except NotAnExpression as error:
            raise Refused(error.reason, error.offset) from error

    # variables

    def _value(self, node: Name, index: int) -> Term:
        if "::" in node.text:
            return constant_value(self, node)
        if self.function is None:
            found = (self.arguments or {}).get(node.text)
            return found if found is not None else constant_value(self, node)
        declared = find_declared(self.file, self.function, node.text, index)
        if declared is None:
            return constant_value(self, node)
        return traced(self, node, index, declared, lambda: self._first_value(node, declared))

    def _first_value(self, node: Name, declared: Declared) -> Term:
        """What a variable starts with."""
        local = declared.local
        if local is not None:
            return self.initialised(local)
        if self.arguments is not None:
            if node.text not in self.arguments:
                raise Refused(f"`{node.text}` is left to its default value", node.offset)
            return self.arguments[node.text]
        python = self.names.get(node.text, node.text)
        return parameter_term(node.text, python, self.type(declared.type), self.template(), node.offset)

    def template(self) -> tuple[str, ...]:
        """The names of the template parameters of the function."""
        own = template_names(self.file.scopes, self.function) if self.function is not None else ()
        return (*own, *self.hidden)

    def initialised(self, local: Local) -> Term:
        """What a variable is declared with. Raises Refused."""
        offset = self.file.tokens[local.name].start
        if local.static and not local.constexpr and not (local.const and self._is_literal(local)):
            raise Refused(f"`{local.text}` keeps its value from one call to the next", offset)
        spelled = self.type(local.type) + ("*" if local.pointer else "")
        kind = coercion.kind_of(spelled)
        if local.pointer and kind != "string":
            raise Refused(f"`{local.text}` is a pointer", offset)
        if spelled.endswith("]"):
            raise Refused(f"`{local.text}` is an array", offset)
        if local.init[0] > local.init[1]:
            if local.style == "{" and kind == "number":
                return coercion.coerce(arithmetic.constant(0), spelled, offset)
            return coercion.default(spelled, offset)
        if local.style != "=":
            items = split_arguments(self.file.scopes, local.init[0] - 1)
            values = [self.evaluate(*item) for item in items]
            if kind == "array":
                return std_calls.construct(spelled, values, braces=local.style == "{", offset=offset)
            if len(values) != 1:
                return self._several(spelled, Group(tuple(values)), offset)
            found = values[0]
        else:
            found = self.evaluate(*local.init)
        if local.part >= 0:
            if not isinstance(found, Group) or local.part >= len(found.items):
                raise Refused(f"what `{local.text}` is a part of is not known", offset)
            return found.items[local.part]
        if isinstance(found, Group) and kind != "array":
            return self._several(spelled, found, offset)
        return coercion.coerce(found, spelled, offset)

    def _several(self, spelled: str, group: Group, offset: int) -> Term:
        if spelled == "auto" or spelled.startswith(("std::tuple", "std::pair")):
            return group
        raise Refused(f"a value of the type {spelled} is not understood", offset)

    def _is_literal(self, local: Local) -> bool:
        kinds = (Kind.NUMBER, Kind.STRING, Kind.PUNCT)
        return all(t.kind in kinds for t in self.file.tokens[local.init[0] : local.init[1] + 1])

"""What the names of a function stand for at a place in it: parameters, constants, and locals traced back.

A local is followed through the statements that always come before the place: single assignments, and those under an
``if``, which become conditional expressions. What a loop, a switch, a lambda or a call may have changed is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torchless.facts.typing import FileView, canonical
from torchless.hoisting import evaluate as evaluation
from torchless.hoisting import members, numbers, types
from torchless.hoisting.definitions import (
    Alias,
    Constant,
    Definition,
    Definitions,
    Enumerator,
    File,
    Function,
    Macro,
    by_value_functions,
    template_names,
)
from torchless.hoisting.expressions import Name, Node, NotAnExpression, is_builtin, parse, type_text
from torchless.hoisting.locals import Local, Write, in_lambda, read_locals, writes
from torchless.hoisting.members import parameter_tensor
from torchless.hoisting.python import Text, binary
from torchless.hoisting.terms import (
    STRING,
    TRUE,
    Array,
    Assumption,
    CType,
    Device,
    DType,
    Group,
    Optional,
    Refused,
    Rest,
    Scalar,
    Term,
    Uses,
    truth,
)
from torchless.rewrites.heads import parameters
from torchless.rewrites.scopes import Block, BlockKind
from torchless.rewrites.statements import Statement, statements
from torchless.text.lexer import Kind, Token

DEEPEST = 12
"""How many functions and constants of the files at hand may lead from one to the next."""

State = Callable[[], Term]


@dataclass(frozen=True, slots=True)
class _Declared:
    """Where a name is declared: a local with its statement, or a parameter's declarator (token indexes)."""

    local: Local | None
    block: Block
    statement: Statement | None = None
    type: str = ""


@dataclass
class Frame:
    """One function of one file. ``arguments`` are bound values (a function that is followed), else ``names`` maps C++
    names of parameters to what Python calls them."""

    file: File
    function: Block | None
    definitions: Definitions
    names: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Term] | None = None
    depth: int = 0
    _values: dict[tuple[str, int], Term] = field(default_factory=dict)
    _active: set[tuple[str, int]] = field(default_factory=set)

    # what evaluate.Names asks for

    def value(self, node: Name) -> Term:
        """See evaluate.Names."""
        index = self._index(node)
        key = (node.text, index)
        if key in self._values:
            return self._values[key]
        if key in self._active or self.depth > DEEPEST:
            raise Refused(f"`{node.text}` is defined by itself", node.offset)
        self._active.add(key)
        try:
            found = self._value(node, index)
        finally:
            self._active.discard(key)
        self._values[key] = found
        return found

    def is_local(self, node: Name) -> bool:
        """See evaluate.Names."""
        return "::" not in node.text and self._declaration(node.text, self._index(node)) is not None

    def canonical(self, node: Name) -> str:
        """See evaluate.Names."""
        return canonical(self.file.view, self._index(node))

    def type(self, spelled: str) -> str:
        """See evaluate.Names."""
        plain = types.strip(spelled)
        for _ in range(DEEPEST):
            found = {d.type for d in self.definitions.of(plain) if isinstance(d, Alias)}
            if len(found) != 1 or is_builtin(plain) or types.kind_of(plain):
                break
            plain = types.strip(found.pop())
        return plain

    def current_device(self, offset: int) -> Device | None:
        """See evaluate.Names. A guard counts when it stands before the place, in a block around it."""
        index = self.file.view.index_at.get(offset, -1)
        if index < 0 or self.function is None:
            return None
        for block in self._blocks(index):
            for statement in reversed(self._before(block, index)):
                for local in read_locals(self.file.scopes, statement.first, statement.last):
                    if "Guard" in local.type and local.init[0] <= local.init[1]:
                        try:
                            found = evaluation.evaluate(self._parse(*local.init), self)
                        except (Refused, NotAnExpression) as error:
                            raise Refused("the device that a guard sets is not understood", error.offset) from error
                        if isinstance(found, Optional):
                            found = found.held
                        if isinstance(found, Device):
                            return found
                        raise Refused("the device that a guard sets is not understood", offset)
        return None

    def call(self, node: Name, arguments: Sequence[Term]) -> Term | None:
        """See evaluate.Names."""
        found = [d for d in self.definitions.of(node.text) if isinstance(d, (Function, Macro))]
        if not found:
            return None
        if self.depth >= DEEPEST:
            raise Refused(f"`{node.text}` calls too many others", node.offset)
        answers = []
        for definition in found:
            if isinstance(definition, Function):
                if len(parameters(definition.file.scopes, definition.block.params)) == len(arguments):
                    answers.append(self._call_function(node, definition, arguments))
            elif definition.params is not None and len(definition.params) == len(arguments):
                answers.append(self._call_macro(node, definition, arguments))
        if not answers:
            return None
        if any(a != answers[0] for a in answers):
            raise Refused(f"there are several functions `{node.text}`", node.offset)
        return answers[0]

    # names

    def _index(self, node: Node) -> int:
        return self.file.view.index_at[node.offset]

    def _value(self, node: Name, index: int) -> Term:
        declared = self._declaration(node.text, index) if "::" not in node.text else None
        if declared is not None:
            if declared.local is None:
                return self._trace(node, index, declared, lambda: self._parameter(node, declared))
            return self._trace(node, index, declared, lambda: self._initial(node, declared))
        return self._constant(node)

    def _blocks(self, index: int) -> list[Block]:
        """The blocks around ``index``, innermost first, the function's own last."""
        out = []
        for block in self.file.scopes.around(index):
            out.append(block)
            if block is self.function or (self.function and block.open == self.function.open):
                break
        return [] if self.function is None else out

    def _before(self, block: Block, index: int) -> list[Statement]:
        """The statements directly in ``block`` that end before ``index``."""
        return [s for s in statements(self.file.scopes, block.open + 1, block.close - 1) if s.last < index]

    def _holding(self, block: Block, index: int) -> Statement | None:
        """The statement directly in ``block`` that holds ``index``."""
        found = statements(self.file.scopes, block.open + 1, block.close - 1)
        return next((s for s in found if s.first <= index <= s.last), None)

    def _declaration(self, name: str, index: int) -> _Declared | None:
        """The declaration that ``name`` means at the token ``index``, None when it is none of the function's."""
        scopes = self.file.scopes
        for block in self._blocks(index):
            holding = self._holding(block, index)
            candidates = [*self._before(block, index), *([holding] if holding else [])]
            for statement in reversed(candidates):
                for local in reversed(read_locals(scopes, statement.first, statement.last)):
                    if local.text == name and (local.end < index or local.name == index):
                        return _Declared(local, block, statement)
            if holding is not None and holding.condition >= 0:
                inner = range(holding.condition + 1, scopes.pair.get(holding.condition, holding.condition))
                for i in inner:
                    if scopes.tokens[i].text == name.encode() and self._declares(i):
                        raise Refused(
                            f"`{name}` is declared in the head of a {holding.word}", scopes.tokens[index].start
                        )
            if block.params >= 0:
                for parameter in parameters(scopes, block.params):
                    if parameter.name >= 0 and scopes.tokens[parameter.name].text == name.encode():
                        end = parameter.default_first - 2 if parameter.default_first >= 0 else parameter.last
                        words = [t for i, t in enumerate(scopes.tokens[parameter.first : end + 1], parameter.first)
                                 if i != parameter.name]  # fmt: skip
                        if block is not self.function and block.kind is BlockKind.LAMBDA:
                            raise Refused(f"`{name}` is a parameter of a lambda", scopes.tokens[index].start)
                        return _Declared(None, block, None, type_text(words))
        return None

    def _declares(self, index: int) -> bool:
        """Does the name at ``index`` stand behind a type?"""
        before = self.file.scopes.tokens[index - 1]
        words = (b"return", b"case", b"else", b"throw", b"not", b"and", b"or", b"delete", b"new", b"sizeof")
        after = self.file.scopes.tokens[index + 1].text
        if before.kind is Kind.NAME:
            return before.text not in words
        ahead = before.text in (b"&", b"&&", b"*", b">") and after in (b"=", b":", b"{")
        return ahead and self.file.scopes.tokens[index - 2].kind is Kind.NAME

    def _parse(self, first: int, last: int) -> Node:
        return parse(self.file.view.tokens, first, last)

    def evaluate(self, first: int, last: int) -> Term:
        """The value of the tokens first..last."""
        try:
            return evaluation.evaluate(self._parse(first, last), self)
        except NotAnExpression as error:
            raise Refused(error.reason, error.offset) from error

    def truth(self, first: int, last: int) -> Scalar:
        """The condition first..last."""
        try:
            return evaluation.truth(self._parse(first, last), self)
        except NotAnExpression as error:
            raise Refused(error.reason, error.offset) from error

    # parameters and locals

    def _parameter(self, node: Name, declared: _Declared) -> Term:
        if self.arguments is not None:
            if node.text not in self.arguments:
                raise Refused(f"`{node.text}` has a default value", node.offset)
            return self.arguments[node.text]
        return parameter_term(
            node.text, self.names.get(node.text, node.text), self.type(declared.type), node.offset, self._templates()
        )

    def _templates(self) -> tuple[str, ...]:
        return template_names(self.file.scopes, self.function) if self.function is not None else ()

    def _initial(self, node: Name, declared: _Declared) -> Term:
        local = declared.local
        assert local is not None
        offset = self.file.view.tokens[local.name].start
        if local.static and not local.constexpr and not (local.const and self._is_literal(local)):
            raise Refused(f"`{local.text}` keeps its value from one call to the next", offset)
        if local.pointer and types.kind_of(f"{types.strip(local.type)}*") != "string":
            raise Refused(f"`{local.text}` is a pointer", offset)
        return self._initialised(local, offset)

    def _is_literal(self, local: Local) -> bool:
        kinds = (Kind.NUMBER, Kind.STRING, Kind.PUNCT)
        return all(t.kind in kinds for t in self.file.view.tokens[local.init[0] : local.init[1] + 1])

    def _initialised(self, local: Local, offset: int) -> Term:
        spelled = self.type(local.type)
        if local.pointer:
            spelled += "*"
        if spelled.endswith("]"):
            raise Refused(f"`{local.text}` is an array", offset)
        if local.style == "" or (local.init[0] > local.init[1] and local.style != "{"):
            return types.default(spelled, offset)
        if local.init[0] > local.init[1]:
            kind = types.kind_of(spelled)
            return numbers.convert(numbers.constant(0), _number(spelled, offset), offset) if kind == "number" else (
                types.default(spelled, offset)
            )  # fmt: skip
        items = self._split(local.init, local.style)
        if local.style in ("{", "(") and (len(items) > 1 or types.kind_of(spelled) == "array"):
            values = tuple(self.evaluate(*item) for item in items)
            if local.style == "(" and types.kind_of(spelled) == "array" and len(values) <= 2:
                return self._sized(values, offset)
            if types.kind_of(spelled) in ("array", "auto") or "tuple" in spelled or "pair" in spelled:
                group = Group(values)
                return types.coerce(group, spelled, offset) if types.kind_of(spelled) == "array" else group
            raise Refused(f"`{local.text}` is made of several values", offset)
        found = self.evaluate(*local.init)
        if local.part >= 0:
            if not isinstance(found, Group) or local.part >= len(found.items):
                raise Refused(f"what `{local.text}` is a part of is not known", offset)
            return found.items[local.part]
        if isinstance(found, Group) and ("tuple" in spelled or "pair" in spelled):
            return found
        return types.coerce(found, spelled, offset)

    def _sized(self, values: Sequence[Term], offset: int) -> Term:
        """``std::vector<int64_t> shape(n, value)``, or a copy of another list."""
        first = values[0]
        if len(values) == 1 and isinstance(first, Array):
            return first
        if isinstance(first, Scalar) and first.constant is not None and 0 <= first.low <= 8:
            value = values[1] if len(values) == 2 else numbers.constant(0)
            if isinstance(value, Scalar):
                return Array((numbers.convert(value, numbers.LONG, offset),) * first.low)
        raise Refused("a list of a length that is computed", offset)

    def _split(self, init: tuple[int, int], style: str) -> list[tuple[int, int]]:
        if style not in ("{", "("):
            return [init]
        from torchless.rewrites.heads import split_arguments

        return split_arguments(self.file.scopes, init[0] - 1)

    # what happened to a variable before a place

    def _trace(self, node: Name, index: int, declared: _Declared, initial: State) -> Term:
        offset = node.offset
        local = declared.local
        if local is not None and (local.name == index or (local.const and not local.reference)):
            self._same_arm(declared, index, offset)
            return initial()
        self._same_arm(declared, index, offset)
        is_tensor = "Tensor" in (local.type if local else declared.type)
        tracer = _Tracer(self, node.text, is_tensor, offset)
        if local is not None and local.reference:
            if tracer.writes_in(declared.block.open, declared.block.close):
                raise Refused(f"`{node.text}` is a reference through which something is changed", offset)
            return initial()
        found = tracer.through(declared, index, initial)()
        wanted = local.type if local is not None else declared.type
        return self._as_declared(found, wanted, offset)

    def _as_declared(self, found: Term, spelled: str, offset: int) -> Term:
        kind = types.strip(self.type(spelled))
        if kind == "auto" or (isinstance(found, Scalar) and types.kind_of(kind) not in ("number", "optional")):
            return found
        return types.coerce(found, kind, offset) if types.kind_of(kind) else found

    def _same_arm(self, declared: _Declared, index: int, offset: int) -> None:
        """Refuse what only some configurations declare."""
        place = declared.local.name if declared.local else declared.block.params
        arms = self.file.arms
        here = arms.get(index, ())
        if arms.get(place, ()) != here[: len(arms.get(place, ()))]:
            raise Refused(f"`{self.file.view.tokens[index].text.decode('latin-1')}` depends on an #if", offset)

    # names outside of the function

    def _constant(self, node: Name) -> Term:
        offset = node.offset
        root = node.text.partition("::")[0]
        if root in self._templates() or (self.arguments is None and root in ("scalar_t", "input_t", "T")):
            raise Refused(f"it depends on the template parameter `{root}`", offset)
        if node.text in ("this", "*this"):
            raise Refused("a member of the object", offset)
        found = self.definitions.of(node.text)
        useful = [d for d in found if isinstance(d, (Constant, Macro, Enumerator))]
        if not useful:
            if "::" in node.text and self.depth == 0 and node.text.partition("::")[0] in ("std",):
                raise Refused(f"`{node.text}` is not known here", offset)
            raise Refused(f"`{node.text}` is no local, no parameter and no constant of the files at hand", offset)
        answers = [self._constant_value(node, d) for d in useful]
        if any(a != answers[0] for a in answers):
            raise Refused(f"`{node.text}` is not the same everywhere", offset)
        return answers[0]

    def _constant_value(self, node: Name, definition: Definition) -> Term:
        inner = Frame(definition.file, None, self.definitions, depth=self.depth + 1)
        if inner.depth > DEEPEST:
            raise Refused(f"`{node.text}` is defined by itself", node.offset)
        tokens = definition.file.view.tokens
        try:
            if isinstance(definition, Enumerator):
                return inner.enumerator(definition)
            if isinstance(definition, Macro):
                if definition.params is not None or definition.first > definition.last:
                    raise Refused(f"`{node.text}` is a macro that is not followed", node.offset)
                overridable = any(
                    tokens[arm + 1].text == b"ifndef" and tokens[arm + 2].text == node.text.encode()
                    for arm in definition.file.arms.get(definition.first, ())
                )
                if overridable:
                    raise Refused(f"`{node.text}` can be set from outside", node.offset)
                if definition.first < definition.last and tokens[definition.first].text != b"(":
                    raise Refused(f"the macro `{node.text}` is not in parentheses", node.offset)
                return inner.evaluate(definition.first, definition.last)
            if isinstance(definition, Constant):
                return inner._initialised(definition.local, node.offset)
        except Refused as error:
            raise Refused(f"`{node.text}`: {error.reason}", node.offset) from error
        raise Refused(f"`{node.text}` is not known here", node.offset)

    def enumerator(self, definition: Enumerator) -> Term:
        """An enumerator as a number: its own initialiser, or one more than the one before it."""
        tokens = self.file.view.tokens
        index, steps = definition.name, 0
        while True:
            after = tokens[index + 1].text
            if after == b"=":
                end = index + 2
                while tokens[end].text not in (b",", b"}"):
                    end = self.file.scopes.pair.get(end, end) + 1 if tokens[end].text in (b"(", b"{") else end + 1
                base = self.evaluate(index + 2, end - 1)
                if not isinstance(base, Scalar):
                    raise Refused("its value is not known", tokens[index].start)
                return numbers.operate("+", base, numbers.constant(steps), tokens[index].start)
            steps += 1
            if tokens[index - 1].text == b"{":
                return numbers.constant(steps - 1)
            index -= 2
            while tokens[index - 1].text not in (b",", b"{"):
                index -= 1

    # functions that are followed

    def _call_function(self, node: Name, function: Function, arguments: Sequence[Term]) -> Term:
        scopes, tokens = function.file.scopes, function.file.view.tokens
        words = {t.text for t in tokens[function.block.head : function.block.open]}
        if b"__global__" in words or (b"__device__" in words and b"__host__" not in words):
            raise Refused(f"`{node.text}` runs on the device", node.offset)
        inner = Frame(
            function.file, function.block, self.definitions, depth=self.depth + 1,
            arguments=self._bound(node, function, arguments),
        )  # fmt: skip
        returns = _return_type(scopes.tokens, function.block)
        try:
            found = inner.returned(function.block.open + 1, function.block.close - 1, returns)
        except Refused as error:
            raise Refused(f"`{node.text}`: {error.reason}", node.offset) from error
        return found

    def _bound(self, node: Name, function: Function, arguments: Sequence[Term]) -> dict[str, Term]:
        scopes = function.file.scopes
        out: dict[str, Term] = {}
        deduced: dict[str, str] = {}
        for parameter, argument in zip(parameters(scopes, function.block.params), arguments, strict=True):
            if parameter.name < 0:
                continue
            end = parameter.default_first - 2 if parameter.default_first >= 0 else parameter.last
            words = [t for i, t in enumerate(scopes.tokens[parameter.first : end + 1], parameter.first)
                     if i != parameter.name]  # fmt: skip
            kind = types.strip(self.type(type_text(words)))
            name = scopes.tokens[parameter.name].text.decode("latin-1")
            if kind in function.template:
                if not isinstance(argument, Scalar):
                    raise Refused(f"what `{node.text}` is made for is not known", node.offset)
                if deduced.setdefault(kind, argument.type.name) != argument.type.name:
                    raise Refused(f"`{node.text}` gets arguments of different types", node.offset)
                out[name] = argument
            else:
                out[name] = types.coerce(argument, kind, node.offset)
        return out

    def returned(self, first: int, last: int, kind: str) -> Term:
        """What the statements first..last return, as a value of the type ``kind``."""
        return self._returned(statements(self.file.scopes, first, last), kind)

    def _returned(self, rest: Sequence[Statement], kind: str) -> Term:
        scopes = self.file.scopes
        for i, statement in enumerate(rest):
            offset = scopes.tokens[statement.first].start
            if self.file.arms.get(statement.first) or any(
                t.directive for t in scopes.tokens[statement.first : statement.last + 1]
            ):
                raise Refused("its body depends on an #if", offset)
            if statement.word == "return":
                found = self.evaluate(statement.first + 1, statement.last - 1)
                spelled = types.strip(self.type(kind))
                if spelled in self._templates():
                    return found
                return types.coerce(found, spelled, offset)
            leaves = any(scopes.tokens[j].text in (b"return", b"throw", b"goto") for j in
                         range(statement.first, statement.last + 1))  # fmt: skip
            if not leaves:
                continue
            if statement.word != "if":
                raise Refused("its body is more than choices and returns", offset)
            condition = self.truth(statement.condition + 1, scopes.pair[statement.condition] - 1)
            after = list(rest[i + 1 :])
            arms = [statements(scopes, *_inside(scopes.tokens, b)) for b in statement.branches]
            then = self._returned([*arms[0], *after], kind)
            other = self._returned([*(arms[1] if statement.complete else []), *after], kind)
            return members.select(condition, then, other, offset)
        raise Refused("it may end without a return", 0)

    def _call_macro(self, node: Name, macro: Macro, arguments: Sequence[Term]) -> Term:
        tokens = macro.file.view.tokens
        params = macro.params or ()
        for i in range(macro.first, macro.last + 1):
            if tokens[i].text.decode("latin-1") in params:
                alone = tokens[i - 1].text in (b"(", b",") and i < macro.last and tokens[i + 1].text in (b")", b",")
                if not alone:
                    raise Refused(f"the macro `{node.text}` does not keep its arguments together", node.offset)
        if tokens[macro.first].text != b"(" or macro.file.scopes.pair.get(macro.first) != macro.last:
            raise Refused(f"the macro `{node.text}` is not in parentheses", node.offset)
        inner = _MacroFrame(macro.file, None, self.definitions, depth=self.depth + 1,
                            arguments=dict(zip(params, arguments, strict=True)))  # fmt: skip
        try:
            return inner.evaluate(macro.first, macro.last)
        except Refused as error:
            raise Refused(f"`{node.text}`: {error.reason}", node.offset) from error


class _MacroFrame(Frame):
    """A macro's body, whose parameters are the only local names."""

    def is_local(self, node: Name) -> bool:
        return self.arguments is not None and node.text in self.arguments

    def _value(self, node: Name, index: int) -> Term:
        if self.arguments is not None and node.text in self.arguments:
            return self.arguments[node.text]
        return self._constant(node)


def _inside(tokens: Sequence[Token], branch: tuple[int, int]) -> tuple[int, int]:
    first, last = branch
    return (first + 1, last - 1) if tokens[first].text == b"{" else branch


def _number(spelled: str, offset: int) -> CType:
    kind = numbers.number_type(types.number_of(spelled))
    if kind is None:
        raise Refused(f"the type {spelled} is not known here", offset)
    return kind


_NO_TYPE = frozenset(
    b"static inline constexpr __host__ __device__ __forceinline__ extern const virtual friend explicit".split()
)


def _return_type(tokens: Sequence[Token], block: Block) -> str:
    """The return type in the head of ``block``'s function as spelled; "auto" when a trailing one is not spelled."""
    words = list(tokens[block.head : block.params])
    texts = [t.text for t in words]
    if b"template" in texts:
        depth = 0
        for i, text in enumerate(texts):
            depth += {b"<": 1, b">": -1}.get(text, 0)
            if text == b">" and depth == 0:
                words, texts = words[i + 1 :], texts[i + 1 :]
                break
    while texts and (texts[0] in _NO_TYPE):
        words, texts = words[1:], texts[1:]
    end = len(texts) - 1
    while end >= 2 and texts[end - 1] == b"::":
        end -= 2
    return type_text([t for t in words[:end] if t.text not in _NO_TYPE])


def parameter_term(name: str, python: str, spelled: str, offset: int, templates: Sequence[str] = ()) -> Term:
    """The parameter ``name`` of the C++ type ``spelled``, which Python has as ``python``."""
    plain = types.strip(spelled)
    uses = Uses(parameters=frozenset({name}))
    text = Text(python)
    kind = types.kind_of(plain)
    if kind == "optional":
        held = parameter_term(name, python, types.optional_of(plain), offset)
        return Optional(held, truth(binary("is not", text, Text("None")), uses))
    if kind == "tensor":
        return parameter_tensor(python, uses)
    if kind == "number":
        number = _number(plain, offset)
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
    if re.split(r"\W", plain)[0] in templates:
        raise Refused(f"it depends on the template parameter `{plain}`", offset)
    raise Refused(f"`{name}` is a {plain}, which Python does not read here", offset)


@dataclass(frozen=True, slots=True)
class _Tracer:
    """Follows one variable through statements."""

    frame: Frame
    name: str
    is_tensor: bool
    offset: int

    def writes_in(self, first: int, last: int) -> list[Write]:
        """The places in the token range that may change it."""
        frame = self.frame
        return writes(frame.file.scopes, self.name, first, last, by_value=_by_value(frame.definitions),
                      is_tensor=self.is_tensor)  # fmt: skip

    def through(self, declared: _Declared, index: int, initial: State) -> State:
        """The state at ``index``."""
        block = declared.block
        start = declared.statement.last + 1 if declared.statement else block.open + 1
        return self._list(start, block.close - 1, index, initial)

    def refuse(self, reason: str, offset: int | None = None) -> State:
        """A state that cannot be said."""
        where = self.offset if offset is None else offset

        def state() -> Term:
            raise Refused(f"`{self.name}` {reason}", where)

        return state

    def _list(self, first: int, last: int, index: int, state: State) -> State:
        """The state behind the statements first..last, or at ``index`` when it lies in one of them."""
        if first > last:
            return state
        for statement in statements(self.frame.file.scopes, first, last):
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
                if statement.word in ("for", "while", "do") and self.writes_in(statement.first, statement.last):
                    return self.refuse("is changed in the loop around it")
                if statement.word == "switch" and self.writes_in(*branch):
                    return self.refuse("is changed in the switch around it")
                if statement.condition >= 0 and self.writes_in(statement.condition, scopes.pair[statement.condition]):
                    return self.refuse("is changed in a condition")
                return self._list(*_inside(scopes.tokens, branch), index, state)
        lambdas = [b for b in scopes.around(index)
                   if b.kind is BlockKind.LAMBDA and statement.first <= b.open <= statement.last]  # fmt: skip
        if lambdas:
            outer = lambdas[-1]
            function = self.frame.function
            end = function.close if function is not None else statement.last
            if self.writes_in(outer.close, end) or self.writes_in(statement.first, outer.open):
                return self.refuse("is changed behind a lambda that reads it")
            return self._list(outer.open + 1, outer.close - 1, index, state)
        before = [w for w in self.writes_in(statement.first, index - 1) if w.index != statement.first]
        if before and not self._is_target(statement, before):
            return self.refuse("is changed in the same statement")
        return state

    def _is_target(self, statement: Statement, found: Sequence[Write]) -> bool:
        """True when all that is written in ``statement`` is what it assigns to: x[0] = x[1]."""
        return all(w.index == statement.first and w.how in ("assign", "element") for w in found)

    def _past(self, statement: Statement, index: int, state: State) -> State:
        found = self.writes_in(statement.first, statement.last)
        if not found:
            return state
        frame, scopes = self.frame, self.frame.file.scopes
        tokens = scopes.tokens
        offset = tokens[found[0].index].start
        arms = frame.file.arms
        here = arms.get(index, ())
        for write in found:
            inside = arms.get(write.index, ())
            if inside != here[: len(inside)]:
                return self.refuse("is changed under an #if", offset)
            if in_lambda(scopes, write.index, statement.first):
                return self.refuse("is changed in a lambda", offset)
            if frame._declares(write.index):
                return self.refuse("is declared twice", offset)
        if statement.word == "if":
            return self._choice(statement, index, state)
        if statement.word == "{":
            first, last = _inside(tokens, statement.branches[0])
            return self._list(first, last, last + 1, state)
        if statement.word in ("for", "while", "do", "switch"):
            return self.refuse(f"is changed in a {statement.word}", offset)
        if len(found) > 1:
            return self.refuse("is changed twice in one statement", offset)
        return self._simple(statement, found[0], state)

    def _choice(self, statement: Statement, index: int, state: State) -> State:
        scopes = self.frame.file.scopes
        close = scopes.pair[statement.condition]
        if self.writes_in(statement.condition, close):
            return self.refuse("is changed in a condition")
        arms: list[State | None] = []
        for branch in statement.branches:
            first, last = _inside(scopes.tokens, branch)
            arms.append(None if self._leaves(first, last) else self._list(first, last, last + 1, state))
        if not statement.complete:
            arms.append(state)
        then, other = arms
        if then is None or other is None:
            left = then or other
            return left if left is not None else self.refuse("is not reached")

        def chosen() -> Term:
            condition = self.frame.truth(statement.condition + 1, close - 1)
            if condition.constant is not None:
                return then() if condition.constant else other()
            return members.select(condition, then(), other(), scopes.tokens[statement.first].start)

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
            return all(self._leaves(*_inside(scopes.tokens, b)) for b in end.branches)
        word = scopes.tokens[end.first].text
        checks_false = word in _CHECKS and scopes.tokens[end.first + 2].text == b"false"
        return word == b"AT_ERROR" or checks_false

    def _simple(self, statement: Statement, write: Write, state: State) -> State:
        frame, scopes = self.frame, self.frame.file.scopes
        tokens, offset = scopes.tokens, scopes.tokens[write.index].start
        if write.how == "passed":
            opener = scopes.enclosing(write.index)
            return self.refuse(f"may be changed by `{tokens[opener - 1].text.decode('latin-1')}`", offset)
        if write.how == "address":
            return self.refuse("has its address taken", offset)
        if write.how == "alias":
            return self.refuse("is bound to a reference", offset)
        first, last = statement.first, statement.last - 1
        if write.how == "step":
            other = tokens[first].text if tokens[first].text in (b"++", b"--") else tokens[last].text
            if last - first != 1 or other not in (b"++", b"--"):
                return self.refuse("is changed within an expression", offset)
            operator = "+" if other == b"++" else "-"
            return lambda: self._operated(operator, state(), numbers.constant(1), offset)
        if write.index != first:
            return self.refuse("is changed within an expression", offset)
        if write.how == "assign":
            sign = tokens[first + 1].text
            if sign == b"=":
                return lambda: frame.evaluate(first + 2, last)
            width = 2 if sign == b">" else 1
            operator = ">>" if sign == b">" else sign[:-1].decode("latin-1")
            return lambda: self._operated(operator, state(), frame.evaluate(first + 1 + width, last), offset)
        if write.how == "element":
            return lambda: self._element(first, last, state(), offset)
        return lambda: self._mutated(first, last, state(), offset)

    def _operated(self, operator: str, left: Term, right: Term, offset: int) -> Term:
        if not isinstance(left, Scalar) or not isinstance(right, Scalar):
            raise Refused(f"`{self.name}` is changed in a way that is not followed", offset)
        found = numbers.operate(operator, left, right, offset)
        return numbers.convert(found, left.type, offset)

    def _element(self, first: int, last: int, state: Term, offset: int) -> Term:
        """``shape[0] = n``, ``shape.back() = n``."""
        scopes = self.frame.file.scopes
        tokens = scopes.tokens
        if not isinstance(state, Array):
            raise Refused(f"an element of `{self.name}` is changed", offset)
        if tokens[first + 1].text == b"[":
            close = scopes.pair[first + 1]
            place = self.frame.evaluate(first + 2, close - 1)
            known = place.constant if isinstance(place, Scalar) else None
        else:
            close = scopes.pair[first + 3]
            word = tokens[first + 2].text
            known = {b"front": 0, b"back": -1}.get(word) if close == first + 4 else None
        if known is None or (known < 0 and tokens[first + 1].text == b"[") or tokens[close + 1].text != b"=":
            raise Refused(f"an element of `{self.name}` is changed, but which?", offset)
        value = self.frame.evaluate(close + 2, last)
        if not isinstance(value, Scalar):
            raise Refused(f"an element of `{self.name}` is changed", offset)
        return members.with_element(state, known, numbers.convert(value, numbers.LONG, offset), offset)

    def _mutated(self, first: int, last: int, state: Term, offset: int) -> Term:
        """``shape.push_back(n)``, ``shape.pop_back()``."""
        scopes = self.frame.file.scopes
        word = scopes.tokens[first + 2].text
        opener = first + 3
        whole = scopes.tokens[opener].text == b"(" and scopes.pair.get(opener) == last
        if isinstance(state, Array) and whole:
            if word in (b"push_back", b"emplace_back"):
                value = self.frame.evaluate(opener + 1, last - 1)
                if isinstance(value, Scalar):
                    return Array((*state.parts, numbers.convert(value, numbers.LONG, offset)))
            if word == b"pop_back" and state.parts and isinstance(state.parts[-1], Scalar):
                return Array(state.parts[:-1])
            if word == b"pop_back" and state.parts and isinstance(state.parts[-1], Rest):
                shorter = members.with_element(state, -1, numbers.constant(0), offset)
                return Array(shorter.parts[:-1])
        raise Refused(f"`{self.name}` is changed by `{word.decode('latin-1')}`", offset)


_CHECKS = frozenset({b"TORCH_CHECK", b"AITER_CHECK", b"TORCH_INTERNAL_ASSERT"})


def _by_value(definitions: Definitions) -> frozenset[str]:
    found = getattr(definitions, "_by_value", None)
    if found is None:
        found = by_value_functions(definitions)
        object.__setattr__(definitions, "_by_value", found)
    return found


__all__ = ["TRUE", "FileView", "Frame", "parameter_term"]

"""One answer per expression: what it is, and how sure we are.

The compiler's facts come first. Where it saw nothing (inactive #if arms, bodies of macros that nobody expands, broken
statements) the shape of the text answers: declarations in the enclosing braces, aliases and using-directives of the
file. Such answers are marked syntactic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from torchless.facts.declarations import Declaration, find_aliases, find_declarations
from torchless.facts.model import FileFacts, FunctionFact, NameFact
from torchless.model import Confidence
from torchless.text.dead import split_dead
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_angle, match_backward, match_forward
from torchless.text.source import SourceFile

ROOTS = frozenset({"torch", "at", "c10"})
"""The framework's namespaces; canonical names write all three as ``at``."""

# What a member of a tensor gives, by canonical member name. Source: the public interface of at::Tensor.
_TENSOR_MEMBERS = {
    "scalar_type": "dtype",
    "dtype": "typemeta",
    "sizes": "int_array",
    "strides": "int_array",
    "options": "options",
    "device": "device",
    **dict.fromkeys(
        (
            "view", "reshape", "contiguous", "transpose", "t", "to", "clone", "select", "slice", "narrow", "unsqueeze",
            "squeeze", "flatten", "permute", "expand", "copy_", "zero_", "fill_", "detach", "cpu", "cuda", "sum",
            "index", "unflatten", "view_as", "mul", "add", "div", "max", "min", "abs", "repeat", "chunk",
        ),
        "tensor",
    ),
}  # fmt: skip
_MEMBER_RESULTS = {
    "tensor": _TENSOR_MEMBERS,
    "optional_tensor": {"value": "tensor", "value_or": "tensor"},
    "optional_dtype": {"value": "dtype", "value_or": "dtype"},
    "tensor_list": {"front": "tensor", "back": "tensor", "at": "tensor"},
    "options": dict.fromkeys(("dtype", "device", "layout", "requires_grad"), "options"),
    "typemeta": {"toScalarType": "dtype"},
}
_FUNCTION_RESULTS = {
    **dict.fromkeys(
        (
            "at::empty", "at::zeros", "at::ones", "at::full", "at::empty_like", "at::zeros_like", "at::ones_like",
            "at::tensor", "at::from_blob", "at::rand", "at::randn", "at::arange", "at::empty_strided", "at::sum",
            "at::cat", "at::Tensor",
        ),
        "tensor",
    ),
    "at::TensorOptions": "options",
    "at::device_of": "device",
    "at::typeMetaToScalarType": "dtype",
}  # fmt: skip
_TRANSPARENT = frozenset({b"std::move", b"std::forward"})


@dataclass(frozen=True, slots=True)
class TypeAnswer:
    """The type classes an expression may have (several in templates and macros) and where that is known from."""

    classes: frozenset[str]
    confidence: Confidence

    def only(self, *wanted: str) -> bool:
        """True when every class it may have is one of ``wanted``."""
        return bool(self.classes) and self.classes <= set(wanted)


@dataclass(frozen=True)
class FileView:
    """One file as the rules see it: its bytes, its code tokens, and the facts at their offsets.

    ``tokens`` are without blanks, comments and code that no configuration compiles (``dead``, see text/dead.py);
    indexes into it are what the functions below take and give.
    """

    source: SourceFile
    tokens: list[Token]
    facts: Mapping[int, tuple[NameFact, ...]]
    functions: tuple[FunctionFact, ...] = ()
    foreign_aliases: Mapping[str, str] = field(default_factory=dict)  # spelled name -> canonical, from included headers
    dead: tuple[Token, ...] = ()

    @cached_property
    def index_at(self) -> dict[int, int]:
        """Byte offset where a token starts -> its index."""
        return {t.start: i for i, t in enumerate(self.tokens)}

    @cached_property
    def declarations(self) -> dict[bytes, list[Declaration]]:
        """Declarations read off the text, by name, in the order in which they come to be seen (declarations.py)."""
        out: dict[bytes, list[Declaration]] = {}
        found = find_declarations(self.tokens, self.aliases)
        for declaration in sorted(found, key=lambda declaration: declaration.scope_start):
            out.setdefault(declaration.name, []).append(declaration)
        return out

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Names that stand for framework names in this file, e.g. {"Tensor": "at::Tensor", "F": "at"}."""
        return {**self.foreign_aliases, **find_aliases(self.tokens)}


def make_view(
    source: SourceFile, facts: Iterable[FileFacts] = (), foreign_aliases: Mapping[str, str] | None = None
) -> FileView:
    """Lex ``source`` and gather the facts about it, merged over the given translation units and passes."""
    names: dict[int, set[NameFact]] = {}
    functions: set[FunctionFact] = set()
    for file_facts in facts:
        for fact in file_facts.names:
            names.setdefault(fact.offset, set()).add(fact)
        functions.update(file_facts.functions)
    live, dead = split_dead(code_tokens(lex(source.data)))
    return FileView(
        source,
        live,
        {offset: tuple(sorted(found)) for offset, found in names.items()},
        tuple(sorted(functions)),
        foreign_aliases or {},
        tuple(dead),
    )


def token_at(view: FileView, offset: int) -> int:
    """Index of the code token that starts at byte ``offset``, or -1."""
    return view.index_at.get(offset, -1)


def qualified_start(view: FileView, index: int) -> int:
    """Index of the first token of the qualified name that ends at the name ``index`` (a leading :: included).

    Template arguments inside the qualifier are skipped: ``a<b>::c``.
    """
    tokens = view.tokens
    first = index
    while first >= 1 and tokens[first - 1].text == b"::":
        if first >= 2 and tokens[first - 2].kind is Kind.NAME and tokens[first - 2].text not in _KEYWORDS:
            first -= 2
        elif first >= 2 and tokens[first - 2].text == b">":
            opener = _angle_backward(tokens, first - 2)
            if opener < 1 or tokens[opener - 1].kind is not Kind.NAME:
                return first - 1
            first = opener - 1
        else:
            return first - 1
    return first


# What may stand before a leading :: without being a qualifier.
_KEYWORDS = frozenset({b"return", b"case", b"throw", b"else", b"do", b"new", b"delete", b"typename", b"const", b"goto"})
_KEYWORDS |= {b"co_return", b"co_await", b"co_yield", b"not", b"and", b"or", b"static", b"inline", b"constexpr"}


def _angle_backward(tokens: list[Token], index: int) -> int:
    """Index of the < whose template arguments close at ``index``, or -1."""
    for i in range(index - 1, max(-1, index - 400), -1):
        if tokens[i].text == b"<" and match_angle(tokens, i) == index:
            return i
        if tokens[i].text in (b";", b"{", b"}"):
            return -1
    return -1


def spelled(view: FileView, index: int) -> str:
    """The qualified name that ends at ``index`` as spelled, blanks and template arguments out, leading :: out."""
    first = qualified_start(view, index)
    parts: list[str] = []
    i = first
    while i <= index:
        token = view.tokens[i]
        if token.text == b"<":
            close = match_angle(view.tokens, i)
            if close < 0:
                break
            i = close
        else:
            parts.append(token.text.decode("latin-1"))
        i += 1
    return "".join(parts).removeprefix("::")


def canonical(view: FileView, index: int) -> str:
    """The canonical framework name (``at::...``) that the name token at ``index`` refers to, or "".

    A member name after . or -> gives its fact's name (``at::Tensor::size``) where there is one.
    """
    token = view.tokens[index]
    if token.kind is not Kind.NAME:
        return ""
    for fact in view.facts.get(token.start, ()):
        # a name of the project's own (a typedef, a template parameter) stands for itself, whatever it resolves to
        if fact.name.startswith("at::") and fact.name.rpartition("::")[2] == token.text.decode("latin-1"):
            return fact.name
    if index and view.tokens[index - 1].text in (b".", b"->"):
        return ""
    name = spelled(view, index)
    root, _, rest = name.partition("::")
    if root in ROOTS:
        return f"at::{rest}" if rest else ""
    if root in view.aliases:
        target = view.aliases[root]
        if not rest and any(f.kind in ("var", "param", "field", "value") for f in view.facts.get(token.start, ())):
            return ""
        return f"{target}::{rest}" if rest else (target if target != "at" else "")
    return ""


def class_of(view: FileView, first: int, last: int) -> TypeAnswer | None:
    """The type of the expression made of code tokens ``first`` .. ``last`` (both included); None when unknown."""
    tokens = view.tokens
    while first < last and tokens[first].text == b"(" and match_forward(tokens, first) == last:
        first, last = first + 1, last - 1
    if first > last:
        return None
    ternary = _top_level(tokens, first, last, b"?")
    if ternary >= 0:
        colon = _top_level(tokens, ternary + 1, last, b":")
        if colon > 0:
            return class_of(view, ternary + 1, colon - 1) or class_of(view, colon + 1, last)
    head = tokens[first].text
    if head == b"*":
        inner = class_of(view, first + 1, last)
        return _step(inner, {"optional_tensor": "tensor", "tensor_pointer": "tensor", "optional_dtype": "dtype"})
    if head == b"&":
        return _step(class_of(view, first + 1, last), {"tensor": "tensor_pointer"})
    end = tokens[last]
    if end.kind is Kind.NAME:
        before = tokens[last - 1].text if last > first else b""
        if before in (b".", b"->"):
            return None  # a data member of something: nothing here has one
        if qualified_start(view, last) != first:
            return None
        return _class_of_name(view, last)
    if end.text == b"]":
        opener = match_backward(tokens, last)
        if opener <= first:
            return None
        return _step(class_of(view, first, opener - 1), {"tensor": "tensor", "tensor_list": "tensor"})
    if end.text in (b")", b"}"):
        return _class_of_call(view, first, last)
    return None


def _class_of_call(view: FileView, first: int, last: int) -> TypeAnswer | None:
    tokens = view.tokens
    opener = match_backward(tokens, last)
    callee = opener - 1
    if opener <= first:
        return None
    if tokens[callee].text == b">":
        callee = _angle_backward(tokens, callee) - 1
    if callee < first or tokens[callee].kind is not Kind.NAME:
        return None
    if callee > first and tokens[callee - 1].text in (b".", b"->"):
        member = tokens[callee].text.decode("latin-1")
        objects = _object_of_member(view, first, callee)
        if objects is None:
            return None
        results = {_MEMBER_RESULTS[c][member] for c in objects.classes if member in _MEMBER_RESULTS.get(c, {})}
        return TypeAnswer(frozenset(results), objects.confidence) if results else None
    if qualified_start(view, callee) != first and tokens[first].text != b"::":
        return None
    if spelled(view, callee).encode() in _TRANSPARENT:
        return class_of(view, opener + 1, last - 1)
    name = canonical(view, callee)
    if name in _FUNCTION_RESULTS:
        return TypeAnswer(frozenset({_FUNCTION_RESULTS[name]}), _confidence(view, callee))
    classes = {f.type for f in view.facts.get(tokens[callee].start, ()) if f.type}
    return TypeAnswer(frozenset(classes), Confidence.SEMANTIC) if classes else None


def _object_of_member(view: FileView, first: int, member: int) -> TypeAnswer | None:
    """The class of what stands before the . or -> of the member name at ``member``."""
    facts = [f for f in view.facts.get(view.tokens[member].start, ()) if f.kind == "member" and f.type]
    if facts:
        return TypeAnswer(frozenset(f.type for f in facts), Confidence.SEMANTIC)
    answer = class_of(view, first, member - 2)
    if view.tokens[member - 1].text == b"->":
        return _step(answer, {"optional_tensor": "tensor", "tensor_pointer": "tensor"})
    return answer


def object_class(view: FileView, member: int) -> TypeAnswer | None:
    """The class of the object that the member name at index ``member`` is taken from; None when unknown."""
    return _object_of_member(view, postfix_start(view, member - 2), member)


def postfix_start(view: FileView, last: int) -> int:
    """Index where the postfix expression that ends at ``last`` starts: a.b(c)[d]->e, a::b<c>(d), (x), T{...}."""
    tokens = view.tokens
    i = last
    while True:
        token = tokens[i]
        if token.kind is Kind.PUNCT and token.text in (b")", b"]", b"}"):
            opener = match_backward(tokens, i)
            if opener < 0:
                return i
            i = opener
            before = tokens[i - 1] if i else None
            if before is None:
                return i
            if before.kind is Kind.NAME and before.text not in _NOT_CALLEES:
                i -= 1
            elif before.text == b">":
                angle = _angle_backward(tokens, i - 1)
                if angle < 1 or tokens[angle - 1].kind is not Kind.NAME:
                    return i
                i = angle - 1
            elif before.text in (b")", b"]"):
                # f(x)(y), a[i][j]; but a cast or a condition before a parenthesis is not part of it
                if token.text == b"]" or before.text == b"]":
                    i -= 1
                    continue
                return i
            else:
                return i
        elif token.kind is Kind.PUNCT:
            return min(i + 1, last)
        if tokens[i].kind is Kind.NAME:
            i = qualified_start(view, i)
        if i and tokens[i - 1].text in (b".", b"->"):
            i -= 2
            if i < 0:
                return 0
            continue
        return i


_NOT_CALLEES = frozenset({b"return", b"if", b"while", b"switch", b"for", b"sizeof", b"case", b"throw", b"decltype"})


def _class_of_name(view: FileView, index: int) -> TypeAnswer | None:
    token = view.tokens[index]
    facts = view.facts.get(token.start, ())
    classes = frozenset(f.type for f in facts if f.type and f.kind != "member")
    if classes:
        return TypeAnswer(classes, Confidence.SEMANTIC)
    name = canonical(view, index)
    if name.startswith("at::ScalarType::") or (name.startswith("at::k") and name[5:6].isupper()):
        return TypeAnswer(frozenset({"dtype"}), _confidence(view, index))
    if facts or name:
        return None
    declared = view.declarations.get(token.text, ())
    # the last one whose scope holds the name is the innermost; many functions may have an x
    ahead = bisect_right(declared, token.start, key=lambda declaration: declaration.scope_start)
    best = next((d for d in reversed(declared[:ahead]) if token.start < d.scope_end), None)
    if best is None:
        return None
    if best.type:
        return TypeAnswer(frozenset({best.type}), Confidence.SYNTACTIC)
    if best.init_first >= 0:
        answer = class_of(view, best.init_first, best.init_last)
        return TypeAnswer(answer.classes, Confidence.SYNTACTIC) if answer else None
    return None


def _confidence(view: FileView, index: int) -> Confidence:
    return Confidence.SEMANTIC if view.tokens[index].start in view.facts else Confidence.SYNTACTIC


def _step(answer: TypeAnswer | None, table: Mapping[str, str]) -> TypeAnswer | None:
    if answer is None:
        return None
    results = frozenset(table[c] for c in answer.classes if c in table)
    return TypeAnswer(results, answer.confidence) if results else None


def _top_level(tokens: list[Token], first: int, last: int, text: bytes) -> int:
    """Index of the first ``text`` outside brackets in first..last, or -1."""
    i = first
    while i <= last:
        if tokens[i].text == text:
            return i
        if tokens[i].text in (b"(", b"[", b"{"):
            close = match_forward(tokens, i)
            if close < 0:
                return -1
            i = close
        i += 1
    return -1

"""Where a token stands: which brackets pair up, and which block (namespace, class, function ...) holds it.

Read off the tokens alone, so that macro bodies and the arms of #if that no compiler looks at have scopes too. Each
macro body is a stream of its own; where the arms of an #if open or close different braces, the first arm counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from weakref import ref

from torchless.facts.typing import FileView
from torchless.text.lexer import CLOSERS, OPENERS, Kind, Token, match_angle


class BlockKind(str, Enum):
    """What a pair of braces is the body of."""

    NAMESPACE = "namespace"  # extern "C" { } too
    CLASS = "class"
    ENUM = "enum"
    FUNCTION = "function"
    LAMBDA = "lambda"
    STATEMENT = "statement"  # if, for, do, a bare block, a macro that takes a block
    INITIALIZER = "initializer"


@dataclass(frozen=True, slots=True)
class Block:
    """A pair of braces, by token index.

    ``parent`` is an index into Scopes.blocks or -1; ``head`` is the first token of the declaration or statement that
    owns the braces; ``params`` is the index of the ( of a function's or lambda's parameter list, else -1; ``close`` is
    -1 when no brace closes the block.
    """

    kind: BlockKind
    open: int
    close: int
    parent: int
    head: int
    params: int = -1


@dataclass
class Scopes:
    """The brackets and blocks of one file. ``pair`` joins the token indexes of every bracket that has a partner."""

    tokens: list[Token]
    pair: dict[int, int] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    block_of: list[int] = field(default_factory=list)
    block_at: dict[int, int] = field(default_factory=dict)  # index of a { -> index of its block
    before: list[int] = field(default_factory=list)
    macro_heads: frozenset[int] = frozenset()  # the last token of "NAME" or "NAME(a, b)" after each #define

    def at(self, index: int) -> Block | None:
        """The innermost block that holds the token at ``index`` (its own braces excluded)."""
        number = self.block_of[index]
        return self.blocks[number] if number >= 0 else None

    def around(self, index: int) -> Iterator[Block]:
        """The blocks that hold the token, innermost first."""
        number = self.block_of[index]
        while number >= 0:
            yield self.blocks[number]
            number = self.blocks[number].parent

    def function_of(self, index: int) -> Block | None:
        """The outermost function block that holds the token (not a lambda), None outside of any."""
        found = None
        for block in self.around(index):
            if block.kind is BlockKind.FUNCTION:
                found = block
        return found

    def previous(self, index: int) -> int:
        """Index of the token before ``index`` in the same stream (text outside directives, or one directive), or -1."""
        return self.before[index]

    def enclosing(self, index: int) -> int:
        """Index of the innermost ( [ { or template < that is open at ``index``, or -1."""
        i = index - 1
        stream = bool(self.tokens[index].directive)
        while i >= 0:
            token = self.tokens[i]
            if token.kind is Kind.DIRECTIVE and stream:
                return -1
            if bool(token.directive) != stream:
                i -= 1
                continue
            if token.kind is Kind.PUNCT:
                text = token.text
                if text in CLOSERS:
                    i = self.pair.get(i, -1)
                    if i < 0:
                        return -1
                elif text in OPENERS:
                    return i
                elif text == b"<" and i and self.tokens[i - 1].kind is Kind.NAME:
                    if match_angle(self.tokens, i) >= index:
                        return i
                elif text == b";":
                    brace = self.block_of[index]
                    return self.blocks[brace].open if brace >= 0 else -1
            i -= 1
        return -1


_known: dict[int, tuple[ref[FileView], Scopes]] = {}


def scopes_of(view: FileView) -> Scopes:
    """The scopes of the tokens of ``view``: worked out once, and kept as long as the view is."""
    key = id(view)
    found = _known.get(key)
    if found is None or found[0]() is not view:
        found = _known[key] = (ref(view, lambda _: _known.pop(key, None)), find_scopes(view.tokens))
    return found[1]


def find_scopes(tokens: list[Token]) -> Scopes:
    """The scopes of a file's code tokens (blanks and comments out)."""
    scopes = Scopes(tokens, block_of=[-1] * len(tokens), before=_predecessors(tokens))
    _pair_brackets(scopes)
    scopes.macro_heads = frozenset(_macro_heads(scopes))
    _find_blocks(scopes)
    return scopes


def _predecessors(tokens: list[Token]) -> list[int]:
    out = []
    plain = inside = -1
    for i, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            out.append(-1)
            inside = i
        elif token.directive:
            out.append(inside)
            inside = i
        else:
            out.append(plain)
            plain = i
    return out


def _macro_heads(scopes: Scopes) -> Iterator[int]:
    tokens = scopes.tokens
    for i in range(len(tokens) - 2):
        if tokens[i].kind is Kind.DIRECTIVE and tokens[i + 1].text == b"define":
            parenthesis = i + 3 if i + 3 < len(tokens) and tokens[i + 3].start == tokens[i + 2].end else -1
            called = parenthesis > 0 and tokens[parenthesis].text == b"("
            yield scopes.pair.get(parenthesis, i + 2) if called else i + 2


def _streams(tokens: list[Token]) -> Iterator[list[int]]:
    """Token indexes outside directives, then those of each macro body."""
    yield [i for i, t in enumerate(tokens) if not t.directive]
    body: list[int] = []
    for i, token in enumerate(tokens):
        if token.directive == "define" and token.kind is not Kind.DIRECTIVE:
            body.append(i)
        elif body:
            yield body
            body = []
    if body:
        yield body


_CONDITIONALS = frozenset({b"if", b"ifdef", b"ifndef"})
_ALTERNATIVES = frozenset({b"else", b"elif", b"elifdef", b"elifndef"})


def _pair_brackets(scopes: Scopes) -> None:
    tokens = scopes.tokens
    stack: list[int] = []
    arms: list[tuple[list[int], list[int] | None]] = []  # stack before the #if, stack after its first arm
    for i, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            keyword = tokens[i + 1].text if i + 1 < len(tokens) and tokens[i + 1].directive else b""
            if keyword in _CONDITIONALS:
                arms.append((list(stack), None))
            elif keyword in _ALTERNATIVES and arms:
                before, first = arms[-1]
                arms[-1] = (before, list(stack) if first is None else first)
                stack = list(before)
            elif keyword == b"endif" and arms:
                _, first = arms.pop()
                stack = stack if first is None else first
        elif not token.directive:
            _step(scopes, stack, i)
    for body in _streams(tokens):
        if body and tokens[body[0]].directive:
            inner: list[int] = []
            for i in body:
                _step(scopes, inner, i)


def _step(scopes: Scopes, stack: list[int], i: int) -> None:
    token = scopes.tokens[i]
    if token.kind is not Kind.PUNCT:
        return
    if token.text in OPENERS:
        stack.append(i)
    elif token.text in CLOSERS:
        # an opener of another kind on top was never closed: give it up
        while stack and OPENERS[scopes.tokens[stack[-1]].text] != token.text:
            stack.pop()
        if stack:
            opener = stack.pop()
            scopes.pair.setdefault(opener, i)
            scopes.pair.setdefault(i, opener)


def _find_blocks(scopes: Scopes) -> None:
    tokens = scopes.tokens
    for stream in _streams(tokens):
        open_blocks: list[int] = []
        for i in stream:
            while open_blocks and 0 <= scopes.blocks[open_blocks[-1]].close <= i:
                open_blocks.pop()
            parent = open_blocks[-1] if open_blocks else -1
            scopes.block_of[i] = parent
            if tokens[i].text == b"{" and tokens[i].kind is Kind.PUNCT and i in scopes.pair:
                kind, head, params = _classify(scopes, i, parent)
                scopes.block_at[i] = len(scopes.blocks)
                scopes.blocks.append(Block(kind, i, scopes.pair[i], parent, head, params))
                open_blocks.append(len(scopes.blocks) - 1)


_CONTROL = frozenset({b"if", b"for", b"while", b"switch", b"catch"})
_BEFORE_BODY = frozenset({b"const", b"override", b"final", b"mutable", b"noexcept", b"volatile", b"&", b"&&", b"try"})
_CALL_LIKE = frozenset(
    {b"noexcept", b"alignas", b"__attribute__", b"__launch_bounds__", b"decltype", b"requires", b"constexpr", b"throw"}
)
_IN_CODE = frozenset({BlockKind.FUNCTION, BlockKind.LAMBDA, BlockKind.STATEMENT, BlockKind.INITIALIZER})


def _classify(scopes: Scopes, brace: int, parent: int) -> tuple[BlockKind, int, int]:
    tokens, pair = scopes.tokens, scopes.pair
    inside = scopes.blocks[parent].kind if parent >= 0 else None
    in_code = inside in _IN_CODE
    head = statement_start(scopes, brace)
    p = scopes.previous(brace)
    if p < 0:
        return BlockKind.STATEMENT, head, -1
    if tokens[p].text in (b"else", b"do", b"try"):
        return BlockKind.STATEMENT, head, -1
    if tokens[p].text == b"}" and not in_code and p in pair and _is_initializer(scopes, pair[p]):
        params = _parameter_list(scopes, head, brace)  # A::A() : b{1} { ... }
        return (BlockKind.FUNCTION if params >= 0 else BlockKind.STATEMENT), head, params
    if tokens[p].text in (b";", b"{", b"}", b":"):
        return (BlockKind.INITIALIZER if inside is BlockKind.INITIALIZER else BlockKind.STATEMENT), head, -1
    arrow = _trailing_return(scopes, p)
    if arrow >= 0:
        p = scopes.previous(arrow)
    while p >= 0 and tokens[p].text in _BEFORE_BODY:
        p = scopes.previous(p)
    while p >= 0 and tokens[p].text == b")" and p in pair:
        opener = pair[p]
        q = scopes.previous(opener)
        if q >= 0 and tokens[q].text in _CALL_LIKE:
            before = scopes.previous(q)
            if tokens[q].text == b"constexpr" and before >= 0 and tokens[before].text == b"if":
                return BlockKind.STATEMENT, head, -1
            p = before
            while p >= 0 and tokens[p].text in _BEFORE_BODY:
                p = scopes.previous(p)
            continue
        if q >= 0 and tokens[q].text in _CONTROL:
            return BlockKind.STATEMENT, head, -1
        if q >= 0 and tokens[q].text == b"]":
            return BlockKind.LAMBDA, head, opener
        if in_code:
            return BlockKind.STATEMENT, head, -1
        params = _parameter_list(scopes, head, brace)
        if params < 0 or (tokens[brace].directive and not _has_type_before(scopes, params, head)):
            return BlockKind.STATEMENT, head, -1
        return BlockKind.FUNCTION, head, params
    if p >= 0 and tokens[p].text == b"]" and p in pair:
        before = scopes.previous(pair[p])
        if before < 0 or tokens[before].kind is not Kind.NAME or tokens[before].text in (b"return",):
            return BlockKind.LAMBDA, head, -1
        return BlockKind.INITIALIZER, head, -1
    keyword = _head_keyword(scopes, head, brace)
    if keyword is not None:
        return keyword, head, -1
    return BlockKind.INITIALIZER, head, -1


def statement_start(scopes: Scopes, index: int) -> int:
    """Index of the first token of the statement or declaration that the token at ``index`` belongs to."""
    tokens, pair = scopes.tokens, scopes.pair
    first = index
    i = scopes.previous(index)
    while i >= 0:
        token = tokens[i]
        if token.kind is Kind.DIRECTIVE or i in scopes.macro_heads:
            break
        if token.kind is Kind.PUNCT:
            if token.text in (b";", b"{", b"("):
                break
            if token.text == b"}":
                opener = pair.get(i, -1)
                if opener < 0 or not _is_initializer(scopes, opener):
                    break
                first = i = opener
                i = scopes.previous(i)
                continue
            if token.text in (b")", b"]") and i in pair:
                first = pair[i]
                i = scopes.previous(first)
                continue
            if token.text == b":":
                label = scopes.previous(i)
                if label >= 0 and tokens[label].text in (b"public", b"private", b"protected", b"default"):
                    break
        first = i
        i = scopes.previous(i)
    return first


def _is_initializer(scopes: Scopes, opener: int) -> bool:
    before = scopes.previous(opener)
    if before < 0:
        return False
    if scopes.tokens[before].text in (b"=", b",", b"(", b"return"):
        return True
    number = scopes.block_at.get(opener, -1)
    return number >= 0 and scopes.blocks[number].kind is BlockKind.INITIALIZER


def _trailing_return(scopes: Scopes, index: int) -> int:
    """Index of the -> of a trailing return type that ends at ``index``, or -1."""
    i = index
    for _ in range(40):
        if i < 0:
            return -1
        token = scopes.tokens[i]
        if token.text == b"->":
            before = scopes.previous(i)
            while before >= 0 and scopes.tokens[before].text in _BEFORE_BODY:
                before = scopes.previous(before)
            return i if before >= 0 and scopes.tokens[before].text in (b")", b"]") else -1
        if token.kind is not Kind.NAME and token.text not in (b"::", b"<", b">", b",", b"*", b"&"):
            return -1
        i = scopes.previous(i)
    return -1


def _parameter_list(scopes: Scopes, head: int, brace: int) -> int:
    """Index of the ( that opens the parameter list of the function whose head starts at ``head``, or -1."""
    tokens, pair = scopes.tokens, scopes.pair
    i = head
    while 0 <= i < brace:
        token = tokens[i]
        if token.text == b"template" and i + 1 < brace and tokens[i + 1].text == b"<":
            i = match_angle(tokens, i + 1)
            if i < 0:
                return -1
        elif token.text == b"(" and token.kind is Kind.PUNCT:
            before = scopes.previous(i)
            word = tokens[before].text if before >= 0 else b""
            close = pair.get(i, -1)
            if close < 0:
                return -1
            if word == b"operator" or word in _CALL_LIKE:  # operator()(...)
                i = close
            else:
                return i
        i += 1
    return -1


def _has_type_before(scopes: Scopes, params: int, head: int) -> bool:
    """True when something that could be a return type stands before the name of the parameter list at ``params``."""
    name = scopes.previous(params)
    before = scopes.previous(name) if name > head else -1
    return before >= head and (
        scopes.tokens[before].kind is Kind.NAME or scopes.tokens[before].text in (b"*", b"&", b">", b"::")
    )


def _head_keyword(scopes: Scopes, head: int, brace: int) -> BlockKind | None:
    tokens, pair = scopes.tokens, scopes.pair
    i = head
    while 0 <= i < brace:
        token = tokens[i]
        if token.directive and not tokens[brace].directive:
            i += 1
            continue
        if token.text == b"template" and i + 1 < brace and tokens[i + 1].text == b"<":
            end = match_angle(tokens, i + 1)
            if end < 0:
                return None
            i = end
        elif token.text in (b"(", b"[") and token.kind is Kind.PUNCT:
            if i not in pair:
                return None
            i = pair[i]
        elif token.text == b"namespace":
            return BlockKind.NAMESPACE
        elif token.text == b"enum":
            return BlockKind.ENUM
        elif token.text in (b"class", b"struct", b"union"):
            return BlockKind.CLASS
        elif token.text == b"extern" and i + 1 < brace and tokens[i + 1].kind is Kind.STRING:
            if i + 2 == brace:
                return BlockKind.NAMESPACE
        elif token.text == b"=":
            return None
        i += 1
    return None

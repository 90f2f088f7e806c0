"""Every place where a tensor type is written down, and what it is the type of.

``const std::optional<torch::Tensor>& x`` is one use: the type name ``torch::Tensor``, wrapped in an optional, of a
parameter named x that is passed by const reference. Comments and layout between the tokens are nobody's business here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from torchless.facts.typing import FileView, canonical
from torchless.model import Confidence
from torchless.rewrites.heads import function_name, parameters, split_arguments
from torchless.rewrites.scopes import Block, BlockKind, Scopes, statement_start
from torchless.text.lexer import Kind, Token, match_angle

TENSOR_NAMES = frozenset({"at::Tensor", "at::TensorBase"})
LISTS = frozenset(
    b"vector array ArrayRef List initializer_list tuple pair map unordered_map set deque list span"
    b" shared_ptr unique_ptr make_shared make_unique variant".split()
)


class Role(str, Enum):
    """What a tensor type is the type of."""

    PARAMETER = "parameter"
    LAMBDA_PARAMETER = "lambda parameter"
    FUNCTION_TYPE = "function type"  # a parameter of a pointer to function, a std::function or an alias of one
    LOCAL = "local"
    STATIC = "static"  # static or thread_local local
    GLOBAL = "global"
    MEMBER = "member"
    RETURN = "return"
    LIST = "list"  # an element of a container
    VALUE = "value"  # torch::Tensor(...) in an expression
    OTHER = "other"  # template arguments, casts, aliases: the type alone


@dataclass(frozen=True, slots=True)
class TensorUse:
    """One use of a tensor type, by token indexes.

    The type name is first..last; ``keeps`` says that it is an alias whose own definition is retargeted, so that the
    name stays. With an optional around it ``optional`` is the range of the optional's (qualified) name and
    ``outer_last`` its closing >; else ``optional`` is None and the outer range is the type itself. const_before,
    const_after, reference and name are indexes, -1 when absent; ``sign`` is "", "&", "&&" or "*".
    ``parameters`` is the ( of the parameter list it stands in, ``container`` the name token of a LIST.
    """

    first: int
    last: int
    outer_first: int
    outer_last: int
    role: Role
    optional: tuple[int, int] | None = None
    keeps: bool = False
    const_before: int = -1
    const_after: int = -1
    reference: int = -1
    sign: str = ""
    name: int = -1
    parameters: int = -1
    container: int = -1
    confidence: Confidence = Confidence.SEMANTIC


_NOT_QUALIFIERS = frozenset(
    b"const constexpr static inline extern return typename case new delete throw else do volatile mutable friend"
    b" virtual explicit operator thread_local typedef using sizeof goto".split()
)
_BEFORE_TYPE = frozenset(
    b"const constexpr static inline extern volatile mutable friend virtual explicit thread_local register typename"
    b" __forceinline__ __host__ __device__ constinit".split()
)
_AFTER_TYPE = frozenset({b"__restrict__", b"__restrict", b"volatile"})
_STATEMENTS = frozenset({b"if", b"for", b"while", b"switch"})
_OPERATORS = frozenset({b"sizeof", b"alignof", b"typeid", b"decltype", b"noexcept", b"static_assert"})


def tensor_uses(view: FileView, scopes: Scopes) -> list[TensorUse]:
    """Every use of a tensor type in ``view``, in file order, macro bodies and inactive #if arms included."""
    own_aliases = retargeted_aliases(view)
    out = []
    for i, token in enumerate(view.tokens):
        if token.kind is Kind.NAME and _names_tensor(view, scopes, i, own_aliases):
            keeps = token.text in own_aliases and qualified_first(view.tokens, i) == i
            out.append(_describe(view, scopes, i, keeps))
    return out


def retargeted_aliases(view: FileView) -> frozenset[bytes]:
    """Names that this file gives to a tensor type: ``using X = ...``, ``typedef ... X``, ``#define X ...``."""
    tokens = view.tokens
    out = set()
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or not _is_tensor_name(view, i):
            continue
        first = qualified_first(tokens, i)
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        if first >= 3 and tokens[first - 1].text == b"=" and tokens[first - 3].text == b"using":
            if after is not None and after.text == b";":
                out.add(tokens[first - 2].text)
        elif first >= 1 and tokens[first - 1].text == b"typedef":
            if i + 2 < len(tokens) and tokens[i + 2].text == b";" and after is not None:
                out.add(after.text)
        elif token.directive == "define" and first >= 3 and tokens[first - 2].text == b"define":
            ends = after is None or after.directive != "define" or after.kind is Kind.DIRECTIVE
            if ends:
                out.add(tokens[first - 1].text)
    return frozenset(out)


def qualified_first(tokens: list[Token], index: int) -> int:
    """Index of the first token of the qualified name that ends at ``index``; a leading :: belongs to it."""
    first = index
    while first >= 1 and tokens[first - 1].text == b"::":
        if first >= 2 and tokens[first - 2].kind is Kind.NAME and tokens[first - 2].text not in _NOT_QUALIFIERS:
            first -= 2
        else:
            return first - 1
    return first


def _is_tensor_name(view: FileView, index: int) -> bool:
    tokens = view.tokens
    after = tokens[index + 1].text if index + 1 < len(tokens) else b""
    if after == b"::" or (index and tokens[index - 1].text in (b".", b"->", b"class", b"struct", b"enum", b"~")):
        return False
    return canonical(view, index) in TENSOR_NAMES


def _names_tensor(view: FileView, scopes: Scopes, index: int, own_aliases: frozenset[bytes]) -> bool:
    tokens = view.tokens
    if not _is_tensor_name(view, index):
        return False
    facts = view.facts.get(tokens[index].start, ())
    if facts and all(f.kind in ("var", "param", "field", "capture") for f in facts):
        return False
    first = qualified_first(tokens, index)
    before = tokens[first - 1].text if first else b""
    after = tokens[index + 1].text if index + 1 < len(tokens) else b""
    if before == b"using":  # using at::Tensor;  using X = ...
        return False
    if before == b"define" and tokens[index].directive == "define":
        return False
    if tokens[index].text in own_aliases and after == b";" and first == index:
        start = statement_start(scopes, index)
        if tokens[start].text == b"typedef":
            return False
    return True


def _describe(view: FileView, scopes: Scopes, index: int, keeps: bool) -> TensorUse:
    tokens = view.tokens
    first = outer_first = qualified_first(tokens, index)
    outer_last = index
    optional: tuple[int, int] | None = None
    role: Role | None = None
    container = -1
    while role is None:
        opener = scopes.enclosing(outer_first)
        if opener < 1 or tokens[opener].text != b"<":
            break
        name = opener - 1
        only = _sole_argument(tokens, opener, outer_first, outer_last)
        if tokens[name].text == b"optional" and only > 0 and optional is None:
            optional = (qualified_first(tokens, name), name)
            outer_first, outer_last = optional[0], only
        elif tokens[name].text in LISTS:
            role, container = Role.LIST, name
        else:
            returns = outer_last + 1 < len(tokens) and tokens[outer_last + 1].text == b"("
            role = Role.RETURN if returns else Role.OTHER
    const_before, static, before = _left(tokens, outer_first)
    const_after, reference, sign, after = _right(tokens, outer_last)
    name = after if after < len(tokens) and tokens[after].kind is Kind.NAME else -1
    if name >= 0 and tokens[name].text in (b"operator", b"const", b"noexcept", b"override"):
        name = -1
    params = -1
    if role is None:
        role, params = _role(view, scopes, outer_first, outer_last, before, after, name, static, sign)
    return TensorUse(
        first,
        index,
        outer_first,
        outer_last,
        role,
        optional,
        keeps,
        const_before,
        const_after,
        reference,
        sign,
        name,
        params,
        container,
        Confidence.SEMANTIC if tokens[index].start in view.facts else Confidence.SYNTACTIC,
    )


def _sole_argument(tokens: list[Token], opener: int, first: int, last: int) -> int:
    """Index of the > when first..last, but for const, is all that stands between ``opener`` and it; else -1."""
    start, end = opener + 1, last + 1
    while start < first and tokens[start].text == b"const":
        start += 1
    while end < len(tokens) and tokens[end].text == b"const":
        end += 1
    return end if start == first and end < len(tokens) and tokens[end].text == b">" else -1


def _left(tokens: list[Token], first: int) -> tuple[int, bool, int]:
    """(index of a const before the type or -1, static or thread_local, index of the token before all that)."""
    const, static = -1, False
    i = first - 1
    while i >= 0 and tokens[i].directive == tokens[first].directive:
        text = tokens[i].text
        if text == b"const":
            const = i
        elif text in (b"static", b"thread_local"):
            static = True
        elif text not in _BEFORE_TYPE:
            if text == b"]" and tokens[i - 1].text == b"]":  # [[maybe_unused]]
                while i >= 0 and tokens[i].text != b"[":
                    i -= 1
                i -= 2
                continue
            break
        i -= 1
    return const, static, i


def _right(tokens: list[Token], last: int) -> tuple[int, int, str, int]:
    """(const behind the type, the & or *, its text, index of what comes after); -1 and "" when absent."""
    const = reference = -1
    sign = ""
    i = last + 1
    while i < len(tokens):
        text = tokens[i].text
        if text == b"const":
            const = i if const < 0 and reference < 0 else const
        elif text in (b"&", b"&&", b"*"):
            if reference < 0:
                reference, sign = i, text.decode()
        elif text not in _AFTER_TYPE:
            break
        i += 1
    return const, reference, sign, i


def _role(
    view: FileView,
    scopes: Scopes,
    first: int,
    last: int,
    before: int,
    after: int,
    name: int,
    static: bool,
    sign: str,
) -> tuple[Role, int]:
    tokens = view.tokens
    next_text = tokens[after].text if after < len(tokens) else b""
    before_text = tokens[before].text if before >= 0 else b""
    opener = scopes.enclosing(first)
    if before_text == b"->" or (next_text == b"operator"):
        return Role.RETURN, -1
    if not sign and after == last + 1 and next_text in (b"(", b"{"):
        if next_text == b"(" and after + 1 < len(tokens) and tokens[after + 1].text in (b"*", b"&"):
            return Role.RETURN, -1  # R (*)(...)
        inside_angle = opener >= 0 and tokens[opener].text == b"<"
        in_alias = tokens[statement_start(scopes, first)].text in (b"using", b"typedef")
        return (Role.RETURN if inside_angle or in_alias else Role.VALUE), -1
    if opener >= 0 and tokens[opener].text == b"(" and tokens[opener].kind is Kind.PUNCT:
        return _role_in_parentheses(view, scopes, opener, first, next_text, name)
    if tokens[statement_start(scopes, first)].text in (b"using", b"typedef"):
        is_return = next_text == b"(" or (name >= 0 and name + 1 < len(tokens) and tokens[name + 1].text == b"(")
        return (Role.RETURN if is_return else Role.OTHER), -1
    if name < 0:
        # the name of a function template's instantiation is a NAME too; anything else is the type alone
        return Role.OTHER, -1
    return _role_of_declaration(scopes, first, name, static), -1


def _role_in_parentheses(
    view: FileView, scopes: Scopes, opener: int, first: int, next_text: bytes, name: int
) -> tuple[Role, int]:
    tokens = view.tokens
    head = scopes.previous(opener)
    word = tokens[head].text if head >= 0 else b""
    if word in _STATEMENTS:
        return Role.LOCAL, -1
    if word in _OPERATORS or head < 0 or (next_text not in (b",", b")", b"=", b"...") and name < 0):
        return Role.OTHER, -1
    if word == b"]":
        return Role.LAMBDA_PARAMETER, opener
    if word == b"catch":
        return Role.OTHER, -1
    statement = tokens[statement_start(scopes, opener)].text
    if word == b")":
        inner = scopes.pair.get(head, -1)
        if inner >= 0 and tokens[inner - 1].text == b"operator":
            return Role.PARAMETER, opener
        return Role.FUNCTION_TYPE, opener
    outer = scopes.enclosing(opener)
    if statement in (b"using", b"typedef") or (outer >= 0 and tokens[outer].text == b"<"):
        return Role.FUNCTION_TYPE, opener
    if tokens[head].kind is Kind.NAME or word == b">":
        if name < 0 and not declares_function(scopes, opener):
            return Role.OTHER, -1
        return Role.PARAMETER, opener
    if tokens[head].kind is Kind.PUNCT and head >= 1 and _is_operator(tokens, head):
        return Role.PARAMETER, opener
    return Role.OTHER, -1


def _is_operator(tokens: list[Token], index: int) -> bool:
    return any(tokens[i].text == b"operator" for i in range(max(0, index - 2), index))


def declares_function(scopes: Scopes, opener: int) -> bool:
    """True when a return type stands before the function name whose parameter list ``opener`` opens."""
    tokens = scopes.tokens
    name = function_name(scopes, opener)
    if name < 0:
        return False
    before = scopes.previous(qualified_first(tokens, name))
    if before < 0:
        return False
    text = tokens[before].text
    if tokens[before].kind is Kind.NAME:
        return text not in (b"return", b"else", b"do", b"throw", b"new", b"case", b"goto", b"co_return")
    return text in (b"*", b"&", b">", b"&&", b"]")


def _role_of_declaration(scopes: Scopes, first: int, name: int, static: bool) -> Role:
    tokens = scopes.tokens
    while name + 2 < len(tokens) and tokens[name + 1].text == b"::" and tokens[name + 2].kind is Kind.NAME:
        name += 2
    block = scopes.at(first)
    after = name + 1 if name + 1 < len(tokens) else name
    if tokens[after].text == b"<":  # f<int>(...): an instantiation or a specialisation
        close = match_angle(tokens, after)
        after = close + 1 if 0 < close < len(tokens) - 1 else after
    in_macro = bool(tokens[first].directive)
    is_call = tokens[after].text == b"(" or (tokens[after].text == b"::")
    if block is None or block.kind in (BlockKind.NAMESPACE, BlockKind.CLASS):
        if is_call and (block is not None or not in_macro or _looks_like_parameters(scopes, after)):
            return Role.RETURN
        if block is None and in_macro:
            return Role.STATIC if static else Role.LOCAL
        if block is not None and block.kind is BlockKind.CLASS:
            return Role.MEMBER
        return Role.GLOBAL
    if is_call and _looks_like_parameters(scopes, after):
        return Role.RETURN
    return Role.STATIC if static else Role.LOCAL


_BUILTIN = frozenset(b"const int bool float double void long short unsigned char size_t int64_t int32_t auto".split())


def _looks_like_parameters(scopes: Scopes, opener: int) -> bool:
    """Does the ( at ``opener`` start a parameter list (and not the arguments of a variable's initialiser)?"""
    tokens = scopes.tokens
    arguments = split_arguments(scopes, opener)
    if not arguments:
        return True  # T x();
    first, last = arguments[0]
    if tokens[first].text in _BUILTIN:
        return True
    # two names in a row, or a name behind & or >, is a declarator
    for i in range(first + 1, last + 1):
        if tokens[i].kind is Kind.NAME and (tokens[i - 1].kind is Kind.NAME or tokens[i - 1].text in (b"&", b"*")):
            return tokens[i - 1].kind is Kind.NAME or i - 2 >= first
    return False


def body_of(scopes: Scopes, opener: int) -> Block | None:
    """The function or lambda body that belongs to the parameter list ``opener``; None for a declaration."""
    for block in scopes.blocks:
        if block.params == opener:
            return block
    return None


def parameter_position(scopes: Scopes, use: TensorUse) -> tuple[int, int]:
    """(index, count): which parameter of how many the use is the type of. (-1, 0) when it is none."""
    if use.parameters < 0:
        return -1, 0
    found = parameters(scopes, use.parameters)
    for i, parameter in enumerate(found):
        if parameter.first <= use.first <= parameter.last:
            return i, len(found)
    return -1, 0

"""Zero-length tensors that only fill a place: ``torch::empty({0}, options)`` -> ``empty_placeholder(dtype, device)``.

Nothing is allocated for them in torch either; the target's tensor stands in with a null pointer. The helper that makes
it is written once per file, before the first function that needs it. Any other allocation is none of this module's
business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torchless.facts.typing import FileView, canonical, class_of
from torchless.model import Confidence, Edit, Finding
from torchless.rewrites.dtypes import enumerator, of_constant
from torchless.rewrites.heads import namespace_of, split_arguments
from torchless.rewrites.include_lines import directives, guard_conditions
from torchless.rewrites.insertion import comment_above
from torchless.rewrites.scopes import Block, BlockKind, Scopes, scopes_of
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind

HELPER = "empty_placeholder"
_CODE = "TL240"
_MAKERS = frozenset({"at::empty", "at::zeros"})
_HELPER_LINES = (
    "// Stands in for an operand that a call does not have: one dimension of no elements, and no memory.",
    f"static inline aiter_tensor_t {HELPER}(AiterDtype dtype, int device_id)",
    "{",
    "    aiter_tensor_t t{};",
    "    t.ptr        = nullptr;",
    "    t.numel_     = 0;",
    "    t.ndim       = 1;",
    "    t.shape[0]   = 0;",
    "    t.strides[0] = 1;",
    "    t.dtype_     = dtype;",
    "    t.device_id  = device_id;",
    "    return t;",
    "}",
    "",
)


@dataclass(frozen=True, slots=True)
class _Options:
    """What an options expression says: C++ text for the dtype and the device index, "" where it says nothing."""

    dtype: str = ""
    device: str = ""


def rewrite_placeholders(view: FileView, *, helper_provided: bool = False) -> list[Finding]:
    """A finding for every zero-length tensor made outside macro bodies; its edits bring the helper along.

    Each finding's edit replaces the whole call, so it supersedes findings about what stands inside it.
    ``helper_provided`` says that an included header has the helper. A call whose dtype or device cannot be read off its
    options gives nothing.
    """
    scopes = scopes_of(view)
    given = helper_provided or _is_defined(view)
    helpers: list[tuple[str, Edit]] = []  # the namespace that a helper is written into, and its text
    out: list[Finding] = []
    for i in range(len(view.tokens)):
        finding = _placeholder(view, scopes, i)
        if finding is None:
            continue
        if given:
            out.append(finding)
            continue
        space = namespace_of(scopes, i)
        helper = next((e for name, e in helpers if not name or f"{space}::".startswith(f"{name}::")), None)
        if helper is None:
            place = helper_place(view, scopes, i)
            if place is None:
                continue
            helper = _helper(view, *place)
            helpers.append((space, helper))
        # each finding carries the helper, so that any of them can be made without the others
        out.append(replace(finding, edits=(helper, *finding.edits)))
    return out


def _placeholder(view: FileView, scopes: Scopes, index: int) -> Finding | None:
    tokens = view.tokens
    token = tokens[index]
    if token.kind is not Kind.NAME or token.directive or token.text not in (b"empty", b"zeros"):
        return None
    if index + 1 >= len(tokens) or tokens[index + 1].text != b"(" or canonical(view, index) not in _MAKERS:
        return None
    arguments = split_arguments(scopes, index + 1)
    if len(arguments) != 2:
        return None
    (shape_first, shape_last), (first, last) = arguments
    if b"".join(t.text for t in tokens[shape_first : shape_last + 1]) != b"{0}":
        return None
    options = _read_options(view, scopes, first, last)
    if options is None or not options.dtype or not options.device:
        return None
    start, end = tokens[qualified_first(tokens, index)].start, tokens[scopes.pair[index + 1]].end
    text = f"{HELPER}({options.dtype}, {options.device})".encode("latin-1")
    return Finding(
        _CODE,
        "a zero-length tensor becomes a placeholder without memory",
        view.source.path,
        start,
        end,
        edits=(Edit(view.source.path, start, end, text, _CODE),),
        confidence=Confidence.SEMANTIC if token.start in view.facts else Confidence.SYNTACTIC,
        requires=("aiter_tensor.h",),
    )


def _read_options(view: FileView, scopes: Scopes, first: int, last: int) -> _Options | None:
    """What the options expression first..last says; None when it is not understood whole."""
    tokens = view.tokens
    if tokens[last].text != b")" or last not in scopes.pair:
        return None
    opener = scopes.pair[last]
    name = opener - 1
    if name < first or tokens[name].kind is not Kind.NAME:
        return None
    word = tokens[name].text
    if name > first and tokens[name - 1].text == b".":
        if word == b"options" and opener + 1 == last:
            tensor = _tensor(view, first, name - 2)
            return _Options(f"{tensor}.dtype()", f"{tensor}.device_id") if tensor else None
        inner = _read_options(view, scopes, first, name - 2)
        return _with(view, inner, word, opener + 1, last - 1) if inner is not None else None
    if qualified_first(tokens, name) != first:
        return None
    made = canonical(view, name)
    if made == "at::TensorOptions" and opener + 1 == last:
        return _Options()
    if made in ("at::dtype", "at::device"):
        return _with(view, _Options(), word, opener + 1, last - 1)
    return None


def _with(view: FileView, options: _Options, word: bytes, first: int, last: int) -> _Options | None:
    """``options`` with what ``.dtype(first..last)`` or ``.device(first..last)`` adds."""
    tokens = view.tokens
    if first > last:
        return None
    if word == b"dtype":
        dtype = of_constant(canonical(view, last)) if qualified_first(tokens, last) == first else ""
        if dtype:
            return _Options(enumerator(dtype), options.device)
        tensor = _member_of_tensor(view, first, last, (b"dtype", b"scalar_type"))
        return _Options(f"{tensor}.dtype()", options.device) if tensor else None
    if word == b"device":
        tensor = _member_of_tensor(view, first, last, (b"device",))
        return _Options(options.dtype, f"{tensor}.device_id") if tensor else None
    if word == b"requires_grad" and first == last and tokens[first].text == b"false":
        return options
    return None


def _member_of_tensor(view: FileView, first: int, last: int, members: tuple[bytes, ...]) -> str:
    """The text of x when first..last is ``x.member()`` and x is a tensor, else ""."""
    tokens = view.tokens
    if last - first < 4 or tokens[last].text != b")" or tokens[last - 1].text != b"(":
        return ""
    if tokens[last - 2].text not in members or tokens[last - 3].text != b".":
        return ""
    return _tensor(view, first, last - 4)


def _tensor(view: FileView, first: int, last: int) -> str:
    """The text of first..last when it is surely a tensor, else ""."""
    if first > last:
        return ""
    answer = class_of(view, first, last)
    if answer is None or not answer.only("tensor", "target_tensor"):
        return ""
    return view.source.data[view.tokens[first].start : view.tokens[last].end].decode("latin-1")


def _is_defined(view: FileView) -> bool:
    tokens = view.tokens
    return any(
        t.text == HELPER.encode() and i and tokens[i - 1].kind is Kind.NAME and tokens[i - 1].text != b"return"
        for i, t in enumerate(tokens)
    )


def helper_place(view: FileView, scopes: Scopes, index: int) -> tuple[int, bytes] | None:
    """(offset of a line start, indentation): where a helper for the code at ``index`` may be defined.

    In front of the first function with tensors for parameters that stands beside the function there (of itself if it is
    the first) and of the comment above it, outside every #if but the include guard. None when the function does not
    stand at namespace scope.
    """
    source, tokens = view.source, view.tokens
    function = scopes.function_of(index)
    if function is None:
        return None
    around = [b for b in scopes.around(function.open) if b.kind is not BlockKind.NAMESPACE]
    if around:
        return None
    beside = (b for b in scopes.blocks if b.parent == function.parent and _takes_tensors(view, b))
    head = tokens[min([function.head, *(b.head for b in beside)])].start
    offset = _outside_conditionals(view, head)
    if offset != head:
        at = next((t for t in tokens if t.start >= offset), tokens[0])
        if any(b.kind is not BlockKind.NAMESPACE and tokens[b.open].start < at.start < tokens[b.close].end
               for b in scopes.blocks):  # fmt: skip
            return None
    start = source.line_start(source.line_of(offset))
    indent = source.data[start:offset] if not source.data[start:offset].strip() else b""
    if source.data[start:offset].strip(b" \t\xef\xbb\xbf"):
        return None  # something else stands on that line
    return comment_above(view, start), indent


def _takes_tensors(view: FileView, block: Block) -> bool:
    """Whether ``block`` is the body of a function with a torch tensor among its parameters."""
    names = view.tokens[block.params : block.open] if block.params >= 0 else ()
    return block.kind is BlockKind.FUNCTION and any(t.text == b"Tensor" for t in names)


def _outside_conditionals(view: FileView, offset: int) -> int:
    """``offset``, or the # of the outermost #if around it (the include guard does not count)."""
    tokens = view.tokens
    guard = guard_conditions(tokens)
    stack: list[int] = []
    for i, keyword in directives(tokens):
        if tokens[i].start > offset:
            break
        if keyword in ("if", "ifdef", "ifndef"):
            stack.append(i)
        elif keyword == "endif" and stack:
            stack.pop()
    stack = [i for i in stack if i != guard]
    return tokens[stack[0]].start if stack else offset


def _helper(view: FileView, offset: int, indent: bytes) -> Edit:
    source = view.source
    eol = source.eol_at(offset)
    text = b"".join((indent + line.encode() if line else b"") + eol for line in _HELPER_LINES)
    return Edit(source.path, offset, offset, text, _CODE)

"""Tensor types become the target's type: parameters, optionals, locals, aliases, types of functions.

Only the tokens that change are edited: the type's name, a const that moves in front of it, the & that an optional
loses. Comments, alignment and line ends stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from torchless.facts.typing import FileView, canonical
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.rewrites.heads import parameters
from torchless.rewrites.passing import ParameterKey, Passing, TakesReference, parameter_key, passing_in_body
from torchless.rewrites.returns.text import only_lines
from torchless.rewrites.scopes import Block, Scopes, find_scopes
from torchless.rewrites.tensor_types import Role, TensorUse, parameter_position, qualified_first, tensor_uses
from torchless.text.lexer import Kind

TARGET = b"aiter_tensor_t"
TENSOR_HEADER = "aiter_tensor.h"

# Names of torch's optional that mean the same in std.
_OPTIONAL_NAMES = frozenset({b"optional", b"nullopt", b"make_optional", b"nullopt_t"})


def rewrite_signatures(
    view: FileView,
    passing: Mapping[ParameterKey, Passing],
    *,
    bound: Collection[str] = (),
    scopes: Scopes | None = None,
    takes_reference: TakesReference | None = None,
    spoken_for: Sequence[tuple[int, int]] = (),
    refused: Mapping[int, str] | None = None,
) -> list[Finding]:
    """Findings for every tensor type in ``view``, with edits where the target's type can stand there.

    ``passing`` is what merge_passing() gave over all files; a by-value parameter that it does not know stays by value.
    ``bound`` names the functions (unqualified) that Python calls. Blockers carry no edits. ``spoken_for`` are byte
    ranges that another rewrite deals with; ``refused`` says of return types, by where they start, why none does.
    """
    scopes = scopes or find_scopes(view.tokens)
    writer = _Writer(view, scopes, passing, bound, takes_reference, refused or {})
    out: list[Finding] = []
    wrapped: set[int] = set()
    for use in tensor_uses(view, scopes):
        start = view.tokens[use.first].start
        finding = None if any(a <= start < b for a, b in spoken_for) else writer.finding(use)
        if finding is not None:
            out.append(finding)
        if use.optional is not None:
            wrapped.add(use.optional[1])
    out.extend(_std_optionals(view, wrapped))
    return out


class _Writer:
    """Turns uses into findings; holds what all of them need."""

    def __init__(
        self,
        view: FileView,
        scopes: Scopes,
        passing: Mapping[ParameterKey, Passing],
        bound: Collection[str],
        takes_reference: TakesReference | None,
        refused: Mapping[int, str],
    ) -> None:
        self.refused = refused
        self.view = view
        self.scopes = scopes
        self.passing = passing
        self.bound = frozenset(bound)
        self.takes: TakesReference = takes_reference or (lambda name, position: None)
        self.bodies: dict[int, Block] = {b.params: b for b in scopes.blocks if b.params >= 0}

    def finding(self, use: TensorUse) -> Finding | None:
        """What is to be said about ``use``; None when an alias or the finding of another use says it all."""
        if use.role is Role.VALUE and self._is_undefined(use) and self._is_default(use):
            return None
        blocker = self._blocker(use)
        if blocker is not None:
            return blocker
        code, message = _describe(use)
        if use.optional is not None:
            edits = self._optional_edits(use, code)
        else:
            edits = self._tensor_edits(use, code)
        if not edits:
            return None
        return self._make(use, code, message, edits, requires=(TENSOR_HEADER,))

    # -- what cannot be

    def _blocker(self, use: TensorUse) -> Finding | None:
        tokens = self.view.tokens
        if use.role is Role.LIST:
            container = tokens[use.container].text.decode("latin-1")
            return self._block(
                use,
                "TL291",
                f"{container} of tensors: the develop path converts single tensors only, and it owns what it holds",
                "pass addresses (std::vector<int64_t>) or one parameter per tensor; keep the tensors alive in Python",
            )
        if use.role is Role.RETURN and (use.sign == "" or self._is_bound_return(use)):
            return self._block(
                use,
                "TL290",
                "a tensor is returned: the target's tensor owns no memory, so Python must allocate the result"
                + self._why_not(use),
                "add an output parameter, return void, and allocate the output in the Python op",
            )
        if use.role is Role.GLOBAL and self._is_unused(use):
            start, end = only_lines(self.view, use.first, use.name + 1)
            edit = Edit(self.view.source.path, start, end, b"", "TL209")
            return self._make(use, "TL209", "nothing uses this tensor: it goes", [edit])
        if use.role in (Role.MEMBER, Role.STATIC, Role.GLOBAL) and use.sign == "":
            where = {Role.MEMBER: "a member", Role.STATIC: "a static local", Role.GLOBAL: "a global"}[use.role]
            return self._block(
                use,
                "TL294",
                f"{where} of tensor type keeps its memory alive; the target's tensor does not",
                "keep the tensor in Python and pass it in, or hold a pointer whose owner outlives it",
            )
        if use.role is Role.VALUE and self._is_undefined(use):
            return self._block(
                use,
                "TL292",
                "an undefined tensor is made: the target's tensor has no undefined state",
                "use std::optional<aiter_tensor_t> and std::nullopt",
            )
        if use.role in (Role.PARAMETER, Role.LAMBDA_PARAMETER) and use.sign != "*":
            return self._default_blocker(use)
        return None

    def _default_blocker(self, use: TensorUse) -> Finding | None:
        position, _ = parameter_position(self.scopes, use)
        if position < 0:
            return None
        parameter = parameters(self.scopes, use.parameters)[position]
        if parameter.default_first < 0:
            return None
        tokens = self.view.tokens
        text = b"".join(t.text for t in tokens[parameter.default_first : parameter.default_last + 1])
        if use.optional is not None and (text in (b"{}", b"nullopt") or text.endswith(b"::nullopt")):
            return None
        return self._block(
            use,
            "TL207",
            "the default of this parameter is an undefined tensor, which the target's tensor cannot be",
            "make the parameter std::optional<aiter_tensor_t> with std::nullopt, or take the default away",
        )

    def _is_unused(self, use: TensorUse) -> bool:
        """Whether a global is one of an unnamed namespace, declared by itself, that the file mentions nowhere else."""
        tokens = self.view.tokens
        alone = use.sign == "" and use.optional is None and use.const_before < 0 and use.name == use.last + 1
        if not alone or tokens[use.name + 1].text != b";" or tokens[use.first - 1].text not in (b";", b"}", b"{"):
            return False
        around = self.scopes.enclosing(use.first)
        is_own = around > 0 and tokens[around].text == b"{" and tokens[around - 1].text == b"namespace"
        return is_own and sum(t.text == tokens[use.name].text for t in tokens) == 1

    def _is_undefined(self, use: TensorUse) -> bool:
        return self.scopes.pair.get(use.last + 1) == use.last + 2

    def _is_default(self, use: TensorUse) -> bool:
        """True for the default of a parameter, which its finding covers, or of a py::arg, which the binding's does."""
        opener = self.scopes.enclosing(use.first)
        return self.view.tokens[use.first - 1].text == b"=" and opener >= 0 and self.view.tokens[opener].text == b"("

    def _is_bound_return(self, use: TensorUse) -> bool:
        return use.name >= 0 and self.view.tokens[use.name].text.decode("latin-1") in self.bound

    def _why_not(self, use: TensorUse) -> str:
        """Why no rewrite takes the result away, as an aside; "" where nothing is known."""
        reason = self.refused.get(self.view.tokens[use.outer_first].start, "")
        return f" ({reason})" if reason else ""

    # -- what can

    def _tensor_edits(self, use: TensorUse, code: str) -> list[Edit]:
        by_value = use.role in (Role.PARAMETER, Role.LAMBDA_PARAMETER) and not use.sign and not use.keeps
        if by_value and self._passing(use) is Passing.CONST_REFERENCE:
            return self._const_reference_edits(use, code)
        edits = self._type_edits(use, code)
        if use.role is Role.LOCAL and not use.sign:
            edits += self._initialisers(use, code)
        return edits

    def _passing(self, use: TensorUse) -> Passing:
        unchanged = Passing.VALUE if use.optional is not None else Passing.CONST_REFERENCE
        if use.role is Role.LAMBDA_PARAMETER:
            body = self.bodies.get(use.parameters)
            kept = Passing.REFERENCE if use.optional is not None else Passing.VALUE
            return passing_in_body(self.scopes, use, body, self.takes) if body is not None else kept
        key = parameter_key(self.scopes, use)
        missing = Passing.REFERENCE if use.optional is not None else Passing.VALUE
        if key is None:
            return missing
        name = key[0].rsplit("::", 1)[-1]
        if use.optional is not None and name in self.bound:
            return unchanged  # what a bound function writes to an optional never reaches Python
        return self.passing.get(key, missing)

    def _type_edits(self, use: TensorUse, code: str) -> list[Edit]:
        """The type's name; an east const goes west with it."""
        if use.keeps:
            return []
        tokens = self.view.tokens
        start, end, new = tokens[use.first].start, tokens[use.last].end, TARGET
        east = use.const_after
        if east >= 0 and use.const_before < 0 and use.optional is None and self._blank(end, tokens[east].start):
            end, new = tokens[east].end, b"const " + TARGET
        return [self._edit(start, end, new, code)]

    def _const_reference_edits(self, use: TensorUse, code: str) -> list[Edit]:
        tokens = self.view.tokens
        start, end = tokens[use.first].start, tokens[use.last].end
        if use.const_before >= 0:
            return [self._edit(start, end, TARGET + b"&", code)]
        if use.const_after >= 0 and self._blank(end, tokens[use.const_after].start):
            end = tokens[use.const_after].end
        return [self._edit(start, end, b"const " + TARGET + b"&", code)]

    def _initialisers(self, use: TensorUse, code: str) -> list[Edit]:
        """``T x;`` was an undefined tensor: ``T x{};`` is all zeroes, where ``T x;`` would be garbage."""
        tokens, pair = self.view.tokens, self.scopes.pair
        edits = []
        i = use.name
        while 0 <= i < len(tokens) and tokens[i].kind is Kind.NAME:
            if tokens[i + 1].text in (b";", b","):
                edits.append(self._edit(tokens[i].end, tokens[i].end, b"{}", code))
            # on to the next declarator
            while i < len(tokens) and tokens[i].text not in (b",", b";", b":", b")"):
                i = pair.get(i, i) if tokens[i].text in (b"(", b"[", b"{") else i
                i += 1
            if i >= len(tokens) or tokens[i].text != b",":
                break
            i += 1
        return edits

    def _optional_edits(self, use: TensorUse, code: str) -> list[Edit]:
        assert use.optional is not None
        edits = self._type_edits(use, code)
        edits += _std_qualifier(self.view, use.optional[1], code)
        drops = use.role in (Role.PARAMETER, Role.FUNCTION_TYPE) and use.sign == "&"
        constant = use.const_before >= 0 or use.const_after >= 0
        if drops and (constant or (use.role is Role.PARAMETER and self._passing(use) is Passing.VALUE)):
            edits += self._by_value(use, code)
        return edits

    def _by_value(self, use: TensorUse, code: str) -> list[Edit]:
        """Take const and & away around the outer type; one blank stays before the name."""
        tokens = self.view.tokens
        edits = []
        if use.const_before >= 0:
            start, end = tokens[use.const_before].start, tokens[use.const_before + 1].start
            end = end if self._blank(tokens[use.const_before].end, end) else tokens[use.const_before].end
            edits.append(self._edit(start, end, b"", code))
        close = tokens[use.outer_last].end
        start = tokens[use.const_after].start if use.const_after >= 0 else tokens[use.reference].start
        end = tokens[use.reference].end
        following = tokens[use.reference + 1].start
        if use.const_after >= 0 and not self._blank(tokens[use.const_after].end, tokens[use.reference].start):
            return [
                *edits,
                self._edit(tokens[use.const_after].start, tokens[use.const_after].end, b"", code),
                self._edit(tokens[use.reference].start, end, b"", code),
            ]
        new = b""
        if self._blank(close, start) and start > close:  # "> &x", "> const& x"
            if following > end and self._blank(end, following):
                start = close
        elif following == end and tokens[use.reference + 1].kind is Kind.NAME:  # ">&x"
            new = b" "
        edits.append(self._edit(start, end, new, code))
        return edits

    # -- small things

    def _blank(self, start: int, end: int) -> bool:
        return not self.view.source.data[start:end].strip(b" \t")

    def _edit(self, start: int, end: int, new: bytes, code: str) -> Edit:
        return Edit(self.view.source.path, start, end, new, code)

    def _make(
        self, use: TensorUse, code: str, message: str, edits: list[Edit], requires: tuple[str, ...] = ()
    ) -> Finding:
        tokens = self.view.tokens
        return Finding(
            code,
            message,
            self.view.source.path,
            tokens[use.outer_first].start,
            tokens[use.outer_last].end,
            edits=tuple(edits),
            confidence=use.confidence,
            requires=requires,
        )

    def _block(self, use: TensorUse, code: str, message: str, help: str) -> Finding:
        tokens = self.view.tokens
        return Finding(
            code,
            message,
            self.view.source.path,
            tokens[use.outer_first].start,
            tokens[use.outer_last].end,
            tier=Tier.DISPLAY,
            confidence=use.confidence,
            blocks=True,
            help=help,
        )


def _describe(use: TensorUse) -> tuple[str, str]:
    if use.role is Role.FUNCTION_TYPE:
        return "TL205", "the type of a function takes a tensor: it must match the functions that it points to"
    if use.optional is not None:
        return "TL204", "an optional tensor becomes std::optional<aiter_tensor_t>"
    if use.role in (Role.PARAMETER, Role.LAMBDA_PARAMETER, Role.RETURN):
        if not use.sign:
            return "TL203", "a tensor passed by value is passed by const reference, or by value where it is changed"
        if use.const_before >= 0 or use.const_after >= 0:
            return "TL202", "a const tensor reference becomes const aiter_tensor_t&"
        return "TL201", "a tensor reference becomes aiter_tensor_t&"
    return "TL208", "a tensor type becomes aiter_tensor_t"


def _std_optionals(view: FileView, done: set[int]) -> Iterator[Finding]:
    """Every other use of torch's names for std::optional and std::nullopt."""
    for i, token in enumerate(view.tokens):
        if token.kind is not Kind.NAME or token.text not in _OPTIONAL_NAMES or i in done:
            continue
        if i and view.tokens[i - 1].text in (b".", b"->"):
            continue
        edits = _std_qualifier(view, i, "TL204")
        if edits:
            yield Finding(
                "TL204",
                f"{token.text.decode()} is std's own",
                view.source.path,
                edits[0].start,
                token.end,
                edits=tuple(edits),
                confidence=Confidence.SEMANTIC if token.start in view.facts else Confidence.SYNTACTIC,
            )


def _std_qualifier(view: FileView, index: int, code: str) -> list[Edit]:
    """``c10::optional`` -> ``std::optional``: the edit of the qualifier of the name at ``index``, if it is torch's."""
    tokens = view.tokens
    if canonical(view, index) != f"at::{tokens[index].text.decode('latin-1')}":
        return []
    first = qualified_first(tokens, index)
    if tokens[first].text == b"std":
        return []
    start = tokens[first].start
    if index - first == 2:  # one qualifier: only that word
        return [Edit(view.source.path, start, tokens[first].end, b"std", code)]
    return [Edit(view.source.path, start, tokens[index].start, b"std::", code)]

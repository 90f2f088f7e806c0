"""Default arguments stand in one place only.

A source that starts to include its own header must not repeat the defaults which the header's declaration has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding, Tier
from torchless.rewrites.heads import Parameter, function_name, parameters, qualified_name
from torchless.rewrites.passing import ParameterKey
from torchless.rewrites.scopes import BlockKind, Scopes, scopes_of
from torchless.rewrites.tensor_types import declares_function
from torchless.text.lexer import Kind


def declared_defaults(views: Iterable[FileView]) -> dict[ParameterKey, str]:
    """The defaults of the functions that ``views`` (headers) declare at namespace scope: their code tokens, joined.

    Torch's spelling of std names counts as std's own.
    """
    out: dict[ParameterKey, str] = {}
    for view in views:
        scopes = scopes_of(view)
        for key, parameter in _parameters_with_default(scopes):
            out.setdefault(key, _text(scopes, parameter))
    return out


def repeated_defaults(view: FileView, header: FileView) -> list[int]:
    """Where, in ``view``, defaults stand that ``header`` has as well: offsets of the findings that would drop them."""
    return [f.start for f in drop_repeated_defaults(view, declared_defaults([header]))]


def drop_repeated_defaults(view: FileView, declared: Mapping[ParameterKey, str]) -> list[Finding]:
    """Take the defaults that a header in ``declared`` has out of the declarations and definitions of ``view``.

    ``declared`` is what the file will see that does not see it yet: where it never does, its own default is the only
    one. A default that differs from the header's is a blocker: one of the two has to be chosen by a person.
    """
    scopes = scopes_of(view)
    tokens = view.tokens
    out = []
    for key, parameter in _parameters_with_default(scopes):
        if key not in declared:
            continue
        start = tokens[parameter.default_first - 2].end  # behind the name, before the =
        end = tokens[parameter.default_last].end
        function = key[0].rsplit("::", 1)[-1]
        if declared[key] != _text(scopes, parameter):
            out.append(
                Finding(
                    "TL207",
                    f"{function}: this default and its header's differ ({_text(scopes, parameter)}, {declared[key]})",
                    view.source.path,
                    start,
                    end,
                    tier=Tier.DISPLAY,
                    blocks=True,
                    help="give the two declarations the same default, or keep one",
                )
            )
            continue
        message = f"{function}: the default stays in the header, which is now included here"
        edit = Edit(view.source.path, start, end, b"", "TL207")
        out.append(Finding("TL207", message, view.source.path, start, end, edits=(edit,)))
    return out


def _parameters_with_default(scopes: Scopes) -> Iterator[tuple[ParameterKey, Parameter]]:
    tokens = scopes.tokens
    for i, token in enumerate(tokens):
        if token.text != b"(" or token.kind is not Kind.PUNCT or token.directive or i not in scopes.pair:
            continue
        block = scopes.at(i)
        if (block is not None and block.kind is not BlockKind.NAMESPACE) or not declares_function(scopes, i):
            continue
        found = parameters(scopes, i)
        if any(p.default_first >= 0 for p in found):
            name = qualified_name(scopes, function_name(scopes, i))
            for position, parameter in enumerate(found):
                if parameter.default_first >= 0:
                    yield (name, len(found), position), parameter


def _text(scopes: Scopes, parameter: Parameter) -> str:
    words = [t.text.decode("latin-1") for t in scopes.tokens[parameter.default_first : parameter.default_last + 1]]
    text = " ".join(words)
    for root in ("c10", "torch", "at"):
        text = text.replace(f"{root} :: nullopt", "std :: nullopt")
    return text.replace(" :: ", "::")

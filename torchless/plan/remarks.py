"""What is told about a file beside its units: code that stays as it is, and what a person has to decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchless.facts.typing import FileView
from torchless.model import Confidence, Finding, Tier
from torchless.plan.collect import Dropped
from torchless.plan.decide import Draft
from torchless.plan.rounds import Grouped, is_foreign
from torchless.rewrites.include_lines import directives
from torchless.rewrites.includes import is_torch_header, torch_names
from torchless.text.lexer import Kind, Token

# Set by the JIT where the installed torch has the dtype, and never for a module that is built without torch.
# Source: compile flags in aiter/jit/core.py.
_FP4 = b"TORCH_Float4_e2m1fn_x2"
_LISTED = 3


def remarks(seen: Grouped, drafts: Iterable[Draft], dropped: Dropped) -> list[Finding]:
    """TL012 and TL214 for the files of ``drafts`` and those that the selection covers, by place.

    Without codes that the user ``dropped``, and without what comments suppress. Headers that migrating files stop
    including are left out.
    """
    analysis = seen.analysis
    mine = {name for d in drafts for name in d.group.modules}
    paths = {e.path for d in drafts for e in d.group.entities}
    paths.update(source for m in analysis.project.modules if m.name in mine for source in m.sources)
    paths.update(path for path in analysis.views if analysis.selection.covers(path))
    out: list[Finding] = []
    for path in sorted(paths & analysis.views.keys()):
        if not is_foreign(path):
            out += [*dead_torch(analysis.views[path]), *arms_by_torch(analysis.views[path])]
    return seen.suppressor.unsuppressed([f for f in out if not dropped(f.code)])


def dead_torch(view: FileView) -> list[Finding]:
    """One TL012 for all code of a file that no configuration compiles and that uses torch, at the first such place."""
    names = [*torch_names(view.dead), *_torch_includes(view.dead)]
    names = names or [t.text.decode() for t in view.dead if t.text == b"Tensor"][:1]  # with a using-directive in force
    first = next((t for t in view.dead if t.text.decode("latin-1") in _first_words(names)), None)
    if first is None:
        return []
    lines = len({view.source.line_of(t.start) for t in view.dead})
    shown = ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
    return [
        Finding(
            "TL012",
            f"{lines} line{'' if lines == 1 else 's'} that no configuration compiles (#if 0) stay as they are: {shown}",
            view.source.path,
            first.start,
            first.end,
            tier=Tier.DISPLAY,
            confidence=Confidence.SYNTACTIC,
            help="delete the lines, or port them by hand when somebody turns them on",
        )
    ]


def _torch_includes(tokens: Sequence[Token]) -> list[str]:
    headers = (t.text.decode("latin-1") for t in tokens if t.kind is Kind.HEADER)
    return sorted({header for header in headers if is_torch_header(header)})


def _first_words(names: Sequence[str]) -> set[str]:
    """The tokens that ``names`` begin with: ``at`` for at::Half and for using namespace at, TORCH_CHECK, a header."""
    return {name.split("::")[0].split()[-1] for name in names}


def arms_by_torch(view: FileView) -> list[Finding]:
    """A TL214 for each directive that asks which dtypes the installed torch has."""
    tokens = view.tokens
    out = []
    for i, keyword in directives(tokens):
        if keyword not in ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"):
            continue
        k = i + 2
        while k < len(tokens) and tokens[k].directive and tokens[k].kind is not Kind.DIRECTIVE:
            if tokens[k].text == _FP4:
                out.append(_arm(view, tokens[k]))
                break
            k += 1
    return out


def _arm(view: FileView, token: Token) -> Finding:
    name = _FP4.decode()
    return Finding(
        "TL214",
        f"which arm is compiled depends on the installed torch ({name}), and without torch it is the one without fp4",
        view.source.path,
        token.start,
        token.end,
        tier=Tier.DISPLAY,
        help="keep the fp4 arm and take the #if out: AITER_DTYPE_fp4x2 is always there (accept AITER_DTYPE_u8 as well"
        " where a torch without fp4 hands packed values over as uint8)",
    )

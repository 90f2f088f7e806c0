"""TL115: modules that read composable_kernel through one common header and use nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchless.lints.context import Context
from torchless.model import Finding, Related, Tier
from torchless.project.model import Module
from torchless.reliance import families
from torchless.reliance.config_flags import with_flag
from torchless.reliance.facts import Facts, View, facts_of
from torchless.reliance.lines import base, listed
from torchless.reliance.mending import include_rows
from torchless.rewrites.std_headers import headers_of_names, is_given

CODE = "TL115"
COMMON = "aiter_hip_common.h"
_KEY = "flags_extra_cc"
_FLAG = "'-DENABLE_CK=0'"
_JIT = "core.py"
_EXCLUDES = re.compile(rb"^def _get_ck_exclude_modules\b.*?(?=^\S|\Z)", re.M | re.S)
_QUOTED = re.compile(rb"[\"'](\w+)[\"']")


def findings(context: Context) -> Iterator[Finding]:
    """One finding for each module in question that could be built without composable_kernel."""
    if not context.project.config_path:
        return
    facts = facts_of(context)
    for module in context.modules:
        if module.enable_ck and module.sources and not _is_partly_unseen(facts, module):
            common = _only_through(facts, module)
            if common:
                yield _finding(facts, module, common)


def _is_partly_unseen(facts: Facts, module: Module) -> bool:
    """Whether the module has sources or flags that are not known, or generates sources that name composable_kernel."""
    if module.missing_sources or module.vendored_sources or module.unread or module.entry_start < 0:
        return True
    if module.has_generator and not module.generators:
        return True
    return any(not facts.words_of(script).isdisjoint(("ck", "ck_tile")) for script in module.generators)


def _views(facts: Facts, module: Module) -> list[View]:
    """How the module builds its sources."""
    views = (view for source in module.sources for view in facts.views_from(source))
    return [view for view in views if view.closure.spec.enable_ck]


def _only_through(facts: Facts, module: Module) -> str:
    """The path of COMMON where it is what brings composable_kernel to the module, which names nothing of it; or ""."""
    found: set[str] = set()
    for view in _views(facts, module):
        for header, category in facts.heavy(view).items():
            if category == families.CK:
                found.update(view.included_by.get(header, ()))
        for path in facts.files(view):
            if base(path) != COMMON and facts.seen(view, path, later=False, whole=path == view.source).ck:
                return ""
    return min(found) if len(found) == 1 and all(base(path) == COMMON for path in found) else ""


def _finding(facts: Facts, module: Module, common: str) -> Finding:
    context = facts.context
    config = context.source(context.project.config_path)
    edits = with_flag(config, module, _KEY, _FLAG, CODE)
    cautions = [*_listed_as_bound(facts, module), *_changing(facts, module), *_lost_standard(facts, module, common)]
    advice = f"add {_FLAG} to {_KEY}"
    if cautions:
        advice += f", but look at this first: {listed(cautions, 6)}"
    if not edits:
        advice += f" (its {_KEY} is not a list of texts)"
    related = Related(common, _line_of_ck(facts, common), "includes composable_kernel unless ENABLE_CK is 0")
    return Finding(
        CODE,
        f"{module.name} reads composable_kernel through {COMMON} only, and uses nothing of it",
        config.path,
        module.entry_start,
        module.entry_start + len(module.name) + 2,
        Tier.UNSAFE if edits else Tier.DISPLAY,
        edits,
        help=advice,
        related=(related,),
    )


def _line_of_ck(facts: Facts, common: str) -> int:
    source = facts.context.source(common)
    rows = (r for r in include_rows(facts.context, common) if facts.category(r.name) == families.CK)
    return next((source.line_of(row.start) for row in rows), 0)


def _listed_as_bound(facts: Facts, module: Module) -> list[str]:
    """A caution where the JIT's own list says that the module needs composable_kernel."""
    path = f"{facts.context.project.config_path.rpartition('/')[0]}/{_JIT}"
    text = _EXCLUDES.search(facts.context.source(path).data)
    names = {name.decode() for name in _QUOTED.findall(text[0])} if text is not None else set()
    return [f"_get_ck_exclude_modules() of {_JIT} lists the module"] if module.name in names else []


def _changing(facts: Facts, module: Module) -> list[str]:
    """Cautions about files of which ENABLE_CK changes more than an include."""
    files = {path for view in _views(facts, module) for path in facts.files(view)}
    return [
        f"{base(path)} tests ENABLE_CK"
        for path in sorted(files)
        if base(path) != COMMON and "ENABLE_CK" in facts.mentions(path).names
    ]


def _lost_standard(facts: Facts, module: Module, common: str) -> list[str]:
    """Cautions about standard headers that nothing but composable_kernel is known to bring."""
    shim = _headers_instead(facts, common)
    lost: dict[str, str] = {}
    for view in _views(facts, module):
        given = families.standard_in([h for h in view.closure.outside if facts.category(h) != families.CK] + shim)
        for path in facts.files(view):
            seen = facts.seen(view, path, later=False, whole=False).mentions
            std = [name.removeprefix("std::") for name in seen.qualified if name.startswith("std::")]
            for use in headers_of_names(std, ()):
                if not is_given(use.header, given):
                    lost.setdefault(use.header, f"{base(path)} names std::{use.names[0]}: include {use.header}")
    return [text for _, text in sorted(lost.items())]


def _headers_instead(facts: Facts, common: str) -> list[str]:
    """The headers outside of the checkout that ``common`` brings where ENABLE_CK is 0, through a file in its place."""
    names = {row.name.rpartition("/")[2] for row in include_rows(facts.context, common) if row.quoted}
    found = []
    for path in facts.context.project.headers:
        if base(path) in names:
            found += [row.name for row in include_rows(facts.context, path) if not row.quoted]
    return found

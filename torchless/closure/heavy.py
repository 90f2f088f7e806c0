"""Which headers are heavy, by category: read from the target's ``headers/heavy.toml``, and extended by the user.

A pattern is matched, as in a shell, against a header outside of the checkout as it is spelled (``torch/extension.h``).
Files of the checkout are never heavy by these patterns, whatever their folder is called, except for those of somebody
else's code in ``3rdparty``. A pattern of the user's is matched against root-relative paths, too.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from torchless.closure.model import Closure
from torchless.errors import ToolError
from torchless.rules.catalogue import rules_dir

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_VENDORED = ("3rdparty/", "third_party/")
_KEYS = {"category", "headers", "together", "why"}


class HeavyError(ToolError):
    """What is said about heavy headers cannot be used; the message is one line."""


@dataclass(frozen=True)
class HeavyRule:
    """Headers of one category. together: they are heavy only where a unit reads all of ``headers``.

    anywhere: files of the checkout are meant, too.
    """

    category: str
    headers: tuple[str, ...]
    why: str = ""
    together: bool = False
    anywhere: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = "|".join(fnmatch.translate(header) for header in self.headers)
        object.__setattr__(self, "pattern", re.compile(text))


@dataclass(frozen=True)
class HeavySet:
    """The rules in their order: the first that matches a header gives its category."""

    rules: tuple[HeavyRule, ...]
    _known: dict[tuple[str, bool], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def category(self, header: str, *, outside: bool = True) -> str:
        """The category of a header, "" for one that is not heavy by itself.

        ``outside``: ``header`` is as spelled and not in the checkout; otherwise it is a root-relative path.
        """
        found = self._known.get((header, outside))
        if found is None:
            names = [header] if outside else list(_vendored_names(header))
            matching = (
                rule.category
                for rule in self.rules
                if not rule.together and any(map(rule.pattern.match, (*names, *([header] * rule.anywhere))))
            )
            found = self._known[header, outside] = next(matching, "")
        return found

    def found(self, closure: Closure) -> Mapping[str, str]:
        """The heavy headers that a unit reads -> their category, in the order in which the unit meets them."""
        together: dict[str, str] = {}
        for rule in self.rules:
            if rule.together and all(header in closure.outside for header in rule.headers):
                together.update((header, rule.category) for header in rule.headers)
        found: dict[str, str] = {}
        for edge in closure.edges:
            if edge.target not in found:
                outside = edge.target in closure.outside
                category = self.category(edge.target, outside=outside) or together.get(edge.target, "")
                if category:
                    found[edge.target] = category
        return found

    def why(self, category: str) -> str:
        """What makes the headers of a category heavy, "" where nobody said."""
        return next((rule.why for rule in self.rules if rule.category == category and rule.why), "")

    @property
    def categories(self) -> tuple[str, ...]:
        """Every category, in the order of the rules."""
        return tuple(dict.fromkeys(rule.category for rule in self.rules))


def load_heavy(extra: Sequence[str] = (), target: str = "aiter") -> HeavySet:
    """The heavy headers of ``target``, and before them ``extra``, each "PATTERN=CATEGORY". Raises HeavyError."""
    own = []
    for text in extra:
        pattern, equals, category = (part.strip() for part in text.partition("="))
        if not pattern or not equals or not re.match(r"[A-Za-z][\w-]*\Z", category):
            raise HeavyError(f"heavy header {text!r}: write PATTERN=CATEGORY, such as 'rocblas/*=rocblas'")
        own.append((pattern, category))
    return with_extra(read_heavy(rules_dir(target) / "headers/heavy.toml"), own)


def with_extra(heavy: HeavySet, extra: Iterable[tuple[str, str]]) -> HeavySet:
    """``heavy`` with further (pattern, category) pairs, which go first and also name files of the checkout."""
    return HeavySet((*(HeavyRule(category, (pattern,), anywhere=True) for pattern, category in extra), *heavy.rules))


@lru_cache(maxsize=4)
def read_heavy(path: Path) -> HeavySet:
    """The rules in a file of [[heavy]] sections, in its order. Raises HeavyError."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise HeavyError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HeavyError(f"{path.name}: not a TOML file: {error}") from None
    sections = document.get("heavy")
    if set(document) != {"heavy"} or not isinstance(sections, list):
        raise HeavyError(f"{path.name}: [[heavy]] sections are wanted and nothing else")
    return HeavySet(tuple(_rule(section, f"{path.name} [heavy {n}]") for n, section in enumerate(sections, 1)))


def _rule(section: Any, origin: str) -> HeavyRule:
    if not isinstance(section, dict) or set(section) - _KEYS:
        raise HeavyError(f"{origin}: allowed keys are {', '.join(sorted(_KEYS))}")
    category, headers = section.get("category"), section.get("headers")
    if not isinstance(category, str) or not category:
        raise HeavyError(f"{origin}: 'category' is missing")
    if not isinstance(headers, list) or not headers or not all(isinstance(header, str) for header in headers):
        raise HeavyError(f"{origin}: 'headers' must be a list of patterns")
    return HeavyRule(category, tuple(headers), str(section.get("why", "")).strip(), section.get("together") is True)


def _vendored_names(path: str) -> Iterator[str]:
    """The ways in which a header below a folder of other people's code may be spelled; none for any other file."""
    for folder in _VENDORED:
        if path.startswith(folder) or f"/{folder}" in path:
            parts = path.split("/")
            yield from ("/".join(parts[n:]) for n in range(1, len(parts)))
            return

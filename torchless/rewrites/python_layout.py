"""Lays out one decorator as black would, in a file that is laid out by black."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import black

DEFAULT_LINE_LENGTH = 88  # black's own


@dataclass(frozen=True, slots=True)
class BlackStyle:
    """The settings of ``[tool.black]`` that change how code is laid out."""

    line_length: int = DEFAULT_LINE_LENGTH
    string_normalization: bool = True
    magic_trailing_comma: bool = True
    preview: bool = False
    targets: tuple[str, ...] = ()

    def mode(self) -> black.Mode:
        """The same as black's own object. Settings that the installed black does not know are left out."""
        import black  # here: it is needed for few edits, and importing it is slow
        from black.mode import TargetVersion

        known = {version.name.lower(): version for version in TargetVersion}
        return black.Mode(
            target_versions={known[name] for name in self.targets if name in known},
            line_length=self.line_length,
            string_normalization=self.string_normalization,
            magic_trailing_comma=self.magic_trailing_comma,
            preview=self.preview,
        )


def read_style(root: Path) -> BlackStyle:
    """The style that pyproject.toml at ``root`` asks for; black's defaults where it says nothing readable."""
    try:
        text = (root / "pyproject.toml").read_text("utf-8")
        table: Any = tomllib.loads(text).get("tool", {}).get("black", {})
    except (OSError, ValueError):
        return BlackStyle()
    if not isinstance(table, dict):
        return BlackStyle()
    options = {str(key).replace("_", "-"): value for key, value in table.items()}
    length = options.get("line-length")
    targets = options.get("target-version")
    return BlackStyle(
        line_length=length if isinstance(length, int) and length > 0 else DEFAULT_LINE_LENGTH,
        string_normalization=options.get("skip-string-normalization") is not True,
        magic_trailing_comma=options.get("skip-magic-trailing-comma") is not True,
        preview=options.get("preview") is True,
        targets=tuple(t for t in targets if isinstance(t, str)) if isinstance(targets, list) else (),
    )


def lay_out_decorator(text: str, indent: str, style: BlackStyle) -> str | None:
    r"""The decorator ``text`` (from its @ to the end of its last line, lines ended by \n) as black lays it out.

    ``indent`` is the indentation of the line that it starts on, which the result leaves out as ``text`` does. None when
    black cannot lay it out: the indentation is not black's, or the text does not parse.
    """
    if indent.strip(" ") or len(indent) % 4:
        return None
    depth = len(indent) // 4
    blocks = "".join("    " * level + "if x:\n" for level in range(depth))
    formatted = _format(f"{blocks}{indent}{text}\n{indent}def f(): ...\n", style)
    if formatted is None:
        return None
    start = re.search(rf"^{indent}@", formatted, re.M)
    end = re.search(rf"^{indent}def f\(\)", formatted, re.M)
    if start is None or end is None:
        return None
    return formatted[start.end() - 1 : end.start()].rstrip("\n")


def lay_out(text: str, style: BlackStyle) -> str:
    r"""Whole statements (lines ended by \n) as black lays them out; ``text`` itself where black cannot read them."""
    formatted = _format(text, style)
    return text if formatted is None else formatted


def is_laid_out(text: str, style: BlackStyle) -> bool:
    r"""Whether black would leave the file ``text`` (lines ended by \n) as it is.

    A file that switches black off somewhere does not count: a statement alone does not tell whether it is meant.
    """
    return "# fmt:" not in text and _format(text, style) == text


@lru_cache(maxsize=256)
def _format(text: str, style: BlackStyle) -> str | None:
    import black

    try:
        return black.format_str(text, mode=style.mode())
    except Exception:  # black raises many kinds for text that it cannot read
        return None

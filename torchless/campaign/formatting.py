"""Whether the repository's own formatters would touch the lines that a batch changes. Nothing is formatted here."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from shutil import which

from torchless.campaign.model import Texts
from torchless.selection import is_cpp

_BLACK = re.compile(r"psf/black|black-pre-commit|\[tool\.black\]|\bblack --|^[ \t]*black[ \t]", re.M)


def formatters_say(root: Path, before: Mapping[str, bytes], after: Texts) -> str:
    """One line: what the formatters that the checkout at ``root`` is set up for say of the lines that change.

    ``before`` and ``after`` are whole texts by root-relative path.
    """
    said = [*_clang_format(root, before, after), *_black(root, before, after)]
    return "Formatting: " + ("; ".join(said) if said else "the checkout has no formatter that torchless knows") + "."


def _clang_format(root: Path, before: Mapping[str, bytes], after: Texts) -> list[str]:
    paths = [path for path in sorted(after) if is_cpp(path)]
    if not paths or not any((root / name).is_file() for name in (".clang-format", "_clang-format")):
        return []
    program = which("clang-format") or which("clang-format-19")
    if program is None:
        return ["clang-format is not on this machine, so the C++ lines were not asked about"]
    touched = [path for path in paths if _reformats(program, root, path, before.get(path, b""), after[path])]
    return [f"clang-format would touch changed lines of {_named(touched)}" if touched else "clang-format agrees"]


def _reformats(program: str, root: Path, path: str, old: bytes, new: bytes) -> bool:
    lines = [f"--lines={first}:{last}" for first, last in _new_lines(old, new)]
    if not lines:
        return False
    command = [program, *lines, f"--assume-filename={root / path}"]
    done = subprocess.run(command, input=new, capture_output=True, check=False, cwd=root)
    return done.returncode == 0 and done.stdout != new


def _black(root: Path, before: Mapping[str, bytes], after: Texts) -> list[str]:
    paths = [path for path in sorted(after) if PurePosixPath(path).suffix == ".py"]
    settings = [
        *(root / name for name in (".pre-commit-config.yaml", "pyproject.toml", ".githooks/pre-commit")),
        *sorted((root / ".github/workflows").glob("*.y*ml")),
    ]
    if not paths or not any(_BLACK.search(file.read_text("utf-8", "replace")) for file in settings if file.is_file()):
        return []
    import black  # here: it takes a while
    from black.parsing import InvalidInput

    from torchless.rewrites.python_layout import read_style

    mode = read_style(root).mode()
    touched = []
    for path in paths:
        text = after[path].decode("utf-8", "replace")
        try:
            formatted = black.format_str(text, mode=mode, lines=list(_new_lines(before.get(path, b""), after[path])))
        except (InvalidInput, ValueError):
            continue
        if formatted != text:
            touched.append(path)
    return [f"black would touch changed lines of {_named(touched)}" if touched else "black agrees"]


def _new_lines(old: bytes, new: bytes) -> list[tuple[int, int]]:
    """The runs of lines of ``new``, 1-based and inclusive, that are not in ``old``."""
    codes = SequenceMatcher(None, old.split(b"\n"), new.split(b"\n"), autojunk=False).get_opcodes()
    return [(k + 1, m) for tag, _, _, k, m in codes if tag in ("replace", "insert") and m > k]


def _named(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")

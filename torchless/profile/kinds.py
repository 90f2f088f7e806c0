"""What a file that a compiler read belongs to, and what it is called in results."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from torchless.closure.heavy import HeavySet
from torchless.facts.flags import STUB_PREFIX, shown_path
from torchless.profile.model import TORCH

_HIP = re.compile(r"(?:hip|hipcub|hiprand|rocprim|rocrand|rocthrust|thrust|hip_runtime|hsa|amd_detail)(?:/|\Z)")
_OWN = re.compile(r".*/torchless/(?:verify/runtime/(?:torch_gpu|torch_real)|profile/gaps)/(.*)\Z")
_BUILT_IN = re.compile(r"<.*>\Z")


def classifier(root: Path, heavy: HeavySet) -> Callable[[str], tuple[str, str]]:
    """A function: a file as a compiler names it (relative ones to ``root``) -> (its name in results, its kind).

    A file of the checkout is named by its root-relative path, one of our stand-ins ``<stubs>/...``, any other as it is.
    Kinds are those of the model; which headers are whose is told by ``heavy``, as everywhere else.
    """
    resolved = root.resolve()

    @cache
    def classify(name: str) -> tuple[str, str]:
        if _BUILT_IN.match(name):
            return name, "other"
        shown = shown_path(name if name.startswith("/") else str(resolved / name), resolved)
        if shown.startswith(STUB_PREFIX):
            family, _, header = shown.removeprefix(STUB_PREFIX).partition("/")
            return shown, {TORCH: TORCH, "hip": "hip", "pybind11": "pybind11", "ck": "ck"}.get(family, "other")
        own = _OWN.match(shown)
        if own:
            header = own.group(1)
            return f"{STUB_PREFIX}{header}", "hip" if header.startswith("thrust/") else TORCH
        if not shown.startswith("/"):
            return shown, _known(heavy.category(shown, outside=False)) or "checkout"
        # every way in which it may have been spelled, from a folder called include on
        parts = shown.split("/include/")
        for first in range(1, len(parts)):
            spelled = "/include/".join(parts[first:])
            kind = _known(heavy.category(spelled)) or ("hip" if _HIP.match(spelled) else "")
            if kind:
                return shown, kind
        return shown, "other"

    return classify


def _known(category: str) -> str:
    return category if category in (TORCH, "ck", "pybind11") else ""


def short(path: str) -> str:
    """``path`` without where it is installed: what follows the last folder called include, for one outside."""
    return path.rpartition("/include/")[2] if path.startswith("/") else path

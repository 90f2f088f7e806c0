"""What headers outside of the checkout stand for: families of names, and which header gives what another one gives."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from torchless.closure.predefined import is_known_header, is_standard
from torchless.errors import ToolError
from torchless.facts.includes import TORCH_PREFIXES
from torchless.reliance.mentions import Mentions
from torchless.rules.catalogue import rules_dir

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TORCH = "torch"
HIP = "hip"
CK = "ck"
PYBIND = "pybind11"
STANDARD = "standard"
OTHER = "other"
UNSEEN = "unseen"
"""A header that a build step writes, or that nobody told us of: it may need whatever was included before it."""

_HIP_PREFIXES = ("hip/", "hipblas", "hipcub/", "hiprand/", "hipsolver", "rocblas/", "rocprim/", "rocsolver/", "rccl/")
_BRINGS_HIP = re.compile(r"hip|roc|rccl|(?:ATen|c10)/hip/|ck_tile/|ck/")
_BINDS = ("torch/extension.h", "torch/python.h", "torch/torch.h", "torch/csrc/utils/pybind.h")
_TORCH_ROOTS = ("torch", "at", "c10", "caffe2")
_TORCH_MACRO = re.compile(r"(?:TORCH|C10|AT|ATEN|CAFFE2)_[A-Z]\w*(?<!_rmTorch)|THP\w+")
_DEFINED_BY_BUILD = frozenset({"TORCH_EXTENSION_NAME", "TORCH_API_INCLUDE_EXTENSION_H", "TORCH_USE_HIP_DSA"})
_HIP_NAME = re.compile(
    r"hip[A-Z]\w*|__half\w*|half2?|__hip_\w+|hip_\w*float\w*|dim3|(?:block|thread)(?:Idx|Dim)|gridDim|__syncthreads"
    r"|(?:make_)?(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|__(?:global|shared|device|constant)__|atomic[A-Z]\w*"
)
_HIP_NARROW = {  # headers that hip_runtime.h does not bring
    "fp16": re.compile(r"(?!__builtin)\w*half\w*"),
    "bf16": re.compile(r"(?!__builtin)\w*bfloat16\w*"),
    "bfloat16": re.compile(r"(?!__builtin)\w*bfloat16\w*"),
    "fp8": re.compile(r"__hip_fp8\w*|__hip_cvt_\w*fp8\w*"),
    "fp4": re.compile(r"__hip_fp4\w*|__hip_cvt_\w*fp4\w*"),
}
_CK_MACRO = re.compile(r"CK_\w+")
_STD_NOT_IN_TORCH = frozenset({"fstream", "queue", "random", "cfloat", "list", "thread"})
_CORE_CK = ("ck_tile/", "ck/")


class NamesError(ToolError):
    """The file that tells what headers stand for cannot be used; the message is one line."""


@dataclass(frozen=True)
class Narrow:
    """A header of torch that stands for few names, and the headers that include it themselves."""

    header: str
    names: re.Pattern[str]
    within: re.Pattern[str]

    def used(self, mentions: Mentions) -> list[str]:
        """What a file that uses torch mentions of it, sorted."""
        if not torch_uses(mentions):
            return []
        return sorted(n for n in mentions.names | mentions.qualified if self.names.fullmatch(n))


@dataclass(frozen=True)
class Headers:
    """What is known of headers outside of the checkout."""

    narrow: dict[str, Narrow] = field(default_factory=dict)

    def is_within(self, header: str, others: Iterable[str]) -> str:
        """The first of ``others`` that includes ``header``, a narrow one, "" for none."""
        known = self.narrow.get(header)
        return next((o for o in others if known is not None and o != header and known.within.match(o)), "")


def family(spelled: str, angled: bool) -> str:
    """The family of a header outside of the checkout."""
    if spelled.startswith(TORCH_PREFIXES):
        return TORCH
    if spelled.startswith(_HIP_PREFIXES):
        return HIP
    if spelled.startswith(_CORE_CK):
        return CK
    if spelled.startswith("pybind11/"):
        return PYBIND
    if is_standard(spelled):
        return STANDARD
    return OTHER if angled or is_known_header(spelled, angled) else UNSEEN


def torch_uses(mentions: Mentions) -> list[str]:
    """What a file mentions of torch, sorted; names with their first qualifier where they have one."""
    found = [q for q in mentions.qualified if q.partition("::")[0] in _TORCH_ROOTS]
    found += [n for n in mentions.names if _TORCH_MACRO.fullmatch(n) and n not in _DEFINED_BY_BUILD]
    found += [f"using namespace {n}" for n in mentions.using if n.partition("::")[0] in _TORCH_ROOTS]
    return sorted(found)


def ck_uses(mentions: Mentions) -> list[str]:
    """What a file mentions of composable_kernel's core, sorted."""
    found = [q for q in mentions.qualified if q.startswith(("ck::", "ck_tile::"))]
    found += [n for n in mentions.names if _CK_MACRO.fullmatch(n)]
    found += [f"using namespace {n}" for n in mentions.using if n.partition("::")[0] in ("ck", "ck_tile")]
    return sorted(found)


def pybind_uses(mentions: Mentions) -> list[str]:
    """What a file mentions of pybind11, sorted."""
    found = [q for q in mentions.qualified if q.startswith(("pybind11::", "py::"))]
    found += [n for n in mentions.names if n.startswith("PYBIND11_")]
    return sorted(found)


def hip_uses(mentions: Mentions) -> list[str]:
    """What a file mentions of HIP, sorted."""
    return sorted(n for n in mentions.names if _HIP_NAME.fullmatch(n))


def narrow_hip_uses(header: str, mentions: Mentions) -> list[str]:
    """What a file mentions of a header of HIP that stands for one element type, sorted; [] for any other header."""
    stem = header.rpartition("/")[2].partition(".")[0].rpartition("_")[2]
    pattern = _HIP_NARROW.get(stem)
    return sorted(n for n in mentions.names if pattern.fullmatch(n)) if pattern is not None else []


def brings_hip(header: str) -> bool:
    """Whether a header outside of the checkout surely brings HIP's runtime."""
    return bool(_BRINGS_HIP.match(header))


def binds_torch(header: str) -> bool:
    """Whether a header of torch teaches pybind11 torch's types, which nothing reports when it is missing."""
    return header in _BINDS


def standard_in(headers: Collection[str]) -> Callable[[str], bool]:
    """Tells whether a standard header, spelled with <>, surely comes with one of ``headers``, which are outside."""
    torch = any(header.startswith(("torch/", "ATen/")) and "/hip/" not in header for header in headers)
    known = frozenset(headers)
    return lambda spelled: spelled[1:-1] in known or (torch and spelled[1:-1] not in _STD_NOT_IN_TORCH)


def may_bring(header: str, standard: str) -> bool:
    """Whether a standard header may have come with a header outside of the checkout."""
    return header == standard or not is_standard(header)


def load_headers(target: str = "aiter") -> Headers:
    """What the target's ``headers/names.toml`` tells. Raises NamesError."""
    return _stored(rules_dir(target) / "headers/names.toml")


@lru_cache(maxsize=4)
def _stored(path: Path) -> Headers:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise NamesError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NamesError(f"{path.name}: not a TOML file: {error}") from None
    sections = document.get("header")
    if set(document) != {"header"} or not isinstance(sections, list):
        raise NamesError(f"{path.name}: [[header]] sections are wanted and nothing else")
    rows = [_narrow(section, f"{path.name} [header {n}]") for n, section in enumerate(sections, 1)]
    return Headers({row.header: row for row in rows})


def _narrow(section: Any, origin: str) -> Narrow:
    if not isinstance(section, dict) or set(section) != {"header", "names", "within"}:
        raise NamesError(f"{origin}: 'header', 'names' and 'within' are wanted and nothing else")
    header, names, within = section["header"], section["names"], section["within"]
    if not isinstance(header, str) or not _are_texts(names) or not _are_texts(within):
        raise NamesError(f"{origin}: 'header' is a text, 'names' and 'within' are lists of texts")
    try:
        pattern = re.compile("|".join(names))
    except re.error as error:
        raise NamesError(f"{origin}: {error}") from None
    return Narrow(header, pattern, re.compile("|".join(map(fnmatch.translate, within)) or r"(?!)"))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def names_of(uses: Collection[str]) -> list[str]:
    """``uses`` without what is no name ("using namespace at")."""
    return [use for use in uses if not use.startswith("using ")]

"""AMD's architectures, and how a parser that is older than some of them is told of one."""

from __future__ import annotations

import re

# What clang 18 takes for --offload-arch. Source: each was tried with the libclang that pyproject.toml asks for.
_KNOWN = re.compile(
    r"gfx(60[0-2]|70[0-5]|80[1235]|810|90[024689ac]|94[0-2]|101[0-3]|103[0-6]|110[0-3]|115[01]|120[01])"
)
# Younger ones, and the one of the same family that the parser takes instead. It makes no code, and what differs in the
# text is the macro alone; builtins of the younger one are errors before an edit and after it.
_YOUNGER = {
    "gfx950": "gfx942",
    "gfx1152": "gfx1151",
    "gfx1153": "gfx1151",
    "gfx1250": "gfx1201",
    "gfx1251": "gfx1201",
}


def is_known(arch: str) -> bool:
    """Whether units can be parsed for ``arch`` (such as gfx942)."""
    return _KNOWN.fullmatch(arch) is not None or arch in _YOUNGER


def parser_arguments(arch: str, device: bool) -> list[str]:
    """The parser's arguments for ``arch`` in one of the passes: the host pass has no macro of the architecture."""
    taken = _YOUNGER.get(arch, arch)
    arguments = [f"--offload-arch={taken}"]
    return [*arguments, f"-U__{taken}__", f"-D__{arch}__=1"] if taken != arch and device else arguments

"""The entries of the JIT configuration as text: where each key of a module's description lies, and what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchless.project.model import Module
from torchless.project.modules import entry_spans

if TYPE_CHECKING:
    from torchless.lints.context import Context


@dataclass(frozen=True, slots=True)
class Entry:
    """A module's description. ``spans``: key -> byte range in the configuration, from the key to its value's end.

    ``name_end`` is where the module's quoted name ends, from which on ``module.entry_start`` counts.
    """

    module: Module
    values: dict[str, Any]
    spans: dict[str, tuple[int, int]]
    name_end: int

    def is_true(self, key: str) -> bool:
        """Whether ``key`` says True, which the JIT writes as a string."""
        value = self.values.get(key)
        return value is True or (isinstance(value, str) and value.strip() == "True")

    def texts(self, key: str) -> list[str]:
        """Every string under ``key``, at any depth."""
        return list(_strings(self.values.get(key)))


def entry_of(context: Context, module: Module) -> Entry | None:
    """The entry of ``module``, None where the configuration does not say."""
    if module.entry_start < 0:
        return None
    data = context.source(context.project.config_path).data[: module.entry_end]
    name_end = module.entry_start + 1
    while data[name_end : name_end + 1] not in (b'"', b""):
        name_end += 2 if data[name_end : name_end + 1] == b"\\" else 1
    value_start = data.find(b"{", name_end)
    if value_start < 0:
        return None
    body = data[value_start:]
    try:
        values = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    spans = {key: (value_start + start, value_start + end) for key, start, end in entry_spans(body)}
    return Entry(module, values, spans, name_end + 1)


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _strings(item)]

"""What a lint reads off the bytes of single files, remembered between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from torchless.lints.context import Context

T = TypeVar("T")


def scans(
    context: Context, paths: Iterable[str], kind: str, version: int, compute: Callable[[bytes], T]
) -> Iterator[tuple[str, T]]:
    """(path, what ``compute`` makes of its bytes) for each of ``paths``, sorted, as Context.remembered() keeps it.

    A file that cannot be read is left out: the check itself says so.
    """
    for path in sorted(paths):
        try:
            yield path, cast(T, context.remembered(path, kind, version, compute))
        except OSError:
            continue

"""What a lint reads off the bytes of single files, remembered between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from torchless.lints.context import Context

T = TypeVar("T")


@dataclass(frozen=True)
class FileScan(Generic[T]):
    """What ``compute`` makes of a file's bytes, kept in the index under ``kind`` until ``version`` is another one."""

    kind: str
    version: int
    compute: Callable[[bytes], T]


def scans(context: Context, paths: Iterable[str], scan: FileScan[T]) -> Iterator[tuple[str, T]]:
    """(path, what ``scan`` makes of its bytes) for each of ``paths``, sorted, as Context.remembered() keeps it.

    A file that cannot be read is left out: the check itself says so.
    """
    for path in sorted(paths):
        try:
            yield path, cast(T, context.remembered(path, scan.kind, scan.version, scan.compute))
        except OSError:
            continue

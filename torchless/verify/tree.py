"""One of the two versions that are compared: a folder, and the files in it that are to be read otherwise."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Tree:
    """The checkout at ``root``, with ``overlay`` (root-relative path -> bytes) in place of files, or beside them.

    ``absent`` are files of ``root`` that this version has not. A compiler still sees them: nothing in it names them.
    """

    root: Path
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    def read(self, path: str) -> bytes:
        """The bytes of a root-relative path. Raises OSError."""
        return self.overlay[path] if path in self.overlay else (self.root / path).read_bytes()

    def input(self, source: str) -> Sequence[str]:
        """The arguments that make clang compile ``source``; it insists on a file, and a new one is none on the disk."""
        path = self.root / source
        is_new = source in self.overlay and not path.exists()
        return ("-include", str(path), os.devnull) if is_new else (str(path),)

    @contextmanager
    def vfs(self) -> Iterator[Sequence[str]]:
        """The arguments that make clang see this tree, for as long as the block runs."""
        if not self.overlay:
            yield ()
            return
        with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
            rows = []
            for number, (path, data) in enumerate(sorted(self.overlay.items())):
                stand_in = Path(folder, f"{number}{Path(path).suffix}")
                stand_in.write_bytes(data)
                rows.append({"name": str(self.root / path), "type": "file", "external-contents": str(stand_in)})
            listing = Path(folder, "overlay.yaml")
            # JSON is YAML. Without external names, diagnostics and macros speak of the file that is meant.
            listing.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": rows}))
            yield ("-ivfsoverlay", str(listing))

"""A cache in two phases, as files.

The *base key* of a parsed unit covers everything that its facts depend on: the command line, the parser, the stub
headers, the content of every file it opened, and where its includes might be found instead. The *full key* of findings
covers the base keys of the units they came from, the rule set and the options: options never touch a base key.

What a unit opens is known only once it was parsed. So each command line has a manifest that lists, for the last few
parses, the files that were opened and the places where a header was looked for in vain; a base key is computed from the
files as they are now. An entry is checked before it answers: magic, schema, checksum, and the very key asked for.
Anything else is a miss.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torchless
from torchless.facts import flags
from torchless.facts.codec import CodecError, decode, encode
from torchless.facts.model import TuFacts, TuSpec
from torchless.index import default_folder as default_folder

_MAGIC = b"torchless-cache-1\n"
_DIGEST = 32
_KEPT_PARSES = 4  # per command line: enough for a few branches of a checkout
MAX_BYTES = 1 << 29
"""A run that writes to a cache larger than this first cuts it down to three quarters, oldest entries first."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a parse depended on: project files that were opened, and paths where a header was looked for in vain.

    ``foreign`` are files outside of the project and of the stub headers.
    """

    opened: tuple[str, ...]
    absent: tuple[str, ...]
    foreign: tuple[str, ...] = ()


@dataclass
class Cache:
    """The cache below ``folder`` for the project at ``root``. ``overlays`` stand in for files on disk, as in parse().

    What is on disk is read once and remembered for the life of the object.
    """

    root: Path
    folder: Path = field(default_factory=default_folder)
    headers: str = "stubs"
    overlays: Mapping[str, bytes] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)
    _present: dict[str, bool] = field(default_factory=dict)
    _folders: dict[str, str] = field(default_factory=dict)
    _pruned: bool = False

    def facts(self, spec: TuSpec) -> tuple[str, TuFacts] | None:
        """(base key, facts) of a unit that was parsed before from just these bytes, or None."""
        for dependencies in self._manifest(spec):
            if any(self._exists(path) for path in dependencies.absent):
                continue
            key = self.base_key(spec, dependencies)
            body = self._read("facts", key)
            if body is None:
                continue
            try:
                found = decode(body)
            except CodecError:
                continue
            if found.spec == spec:
                return key, found
        return None

    def store_facts(self, facts: TuFacts) -> str:
        """Remember ``facts`` and return their base key. A parse that failed is not remembered."""
        dependencies = self.dependencies(facts)
        key = self.base_key(facts.spec, dependencies)
        if facts.failure:
            return key
        manifest = [d for d in self._manifest(facts.spec) if d != dependencies][: _KEPT_PARSES - 1]
        rows = [[list(d.opened), list(d.absent), list(d.foreign)] for d in [dependencies, *manifest]]
        self._write("manifest", self._line_key(facts.spec), json.dumps(rows).encode())
        self._write("facts", key, encode(facts))
        return key

    def base_key(self, spec: TuSpec, dependencies: Dependencies) -> str:
        """The key of a unit's facts, from the files as they are now. Options and rules have no part in it."""
        digest = hashlib.sha256(self._line_key(spec).encode())
        for path in dependencies.opened:
            digest.update(f"{path}\0{self._hash(path)}\n".encode())
        for path in dependencies.foreign:
            digest.update(f"{path}\0{_stamp(path)}\n".encode())
        for path in dependencies.absent:
            digest.update(f"-{path}\n".encode())
        return digest.hexdigest()

    def full_key(self, base_keys: Iterable[str], rule_set: str, options: Iterable[tuple[str, object]]) -> str:
        """The key of findings: base keys of the units they came from, a digest of the rules, and named options."""
        listed = sorted((name, repr(value)) for name, value in options)
        body = json.dumps([torchless.__version__, sorted(base_keys), rule_set, listed])
        return hashlib.sha256(body.encode()).hexdigest()

    def findings(self, full_key: str) -> bytes | None:
        """What store_findings() was given for this very key, or None."""
        return self._read("findings", full_key)

    def store_findings(self, full_key: str, payload: bytes) -> None:
        """Remember ``payload`` under ``full_key``."""
        self._write("findings", full_key, payload)

    def dependencies(self, facts: TuFacts) -> Dependencies:
        """What the parse that gave ``facts`` depended on.

        For each include also the places before the one where the header was found: a file that turns up there would
        be taken instead. A link by which it was found counts, too: facts know the file by the name behind it.
        """
        opened = {p for p in facts.opened if not p.startswith(flags.STUB_PREFIX) and not Path(p).is_absolute()}
        foreign = {p for p in facts.opened if Path(p).is_absolute()}
        folders = [posixpath.normpath(folder) for folder in facts.spec.include_dirs]
        absent: set[str] = set()
        for include in facts.includes:
            own = posixpath.dirname(include.path)
            for folder in dict.fromkeys([own, *folders]):
                candidate = posixpath.normpath(posixpath.join(folder, include.spelled))
                if candidate == include.resolved:
                    break
                if self._exists(candidate):
                    opened.add(candidate)
                    break
                absent.add(candidate)
        return Dependencies(tuple(sorted(opened)), tuple(sorted(absent)), tuple(sorted(foreign)))

    def prune(self, max_bytes: int = MAX_BYTES) -> None:
        """Delete the entries that were written longest ago when all together are larger than ``max_bytes``.

        What others keep in the folder is not touched (verify/trace/store.py).
        """
        entries: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*/[0-9a-f][0-9a-f]/*"):
            try:
                stat = path.stat()
            except OSError:
                continue
            entries.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total <= max_bytes:
            return
        for _, size, path in sorted(entries):
            path.unlink(missing_ok=True)
            total -= size
            if total <= max_bytes * 3 // 4:
                return

    def _line_key(self, spec: TuSpec) -> str:
        """The key of a command line with all that is fixed while the tool runs."""
        body = [
            torchless.__version__,
            flags.toolchain(),
            flags.stubs_digest(),
            self.headers,
            [spec.source, list(spec.include_dirs), list(spec.defines), spec.enable_ck, spec.device, spec.arch],
            spec.further_names,
            list(flags.pass_arguments(spec.device, spec.arch, flags.find_headers("stubs"))),
        ]
        return hashlib.sha256(json.dumps(body).encode()).hexdigest()

    def _manifest(self, spec: TuSpec) -> list[Dependencies]:
        body = self._read("manifest", self._line_key(spec))
        if body is None:
            return []
        try:
            rows = json.loads(body)
            return [Dependencies(tuple(o), tuple(a), tuple(f)) for o, a, f in rows]
        except (ValueError, TypeError):
            return []

    def _hash(self, path: str) -> str:
        """Hash of a project file's content, "" for one that is not there; where it leads for a link."""
        if path not in self._hashes:
            try:
                data = self.overlays[path] if path in self.overlays else (self.root / path).read_bytes()
                self._hashes[path] = self._behind(path) or hashlib.sha256(data).hexdigest()
            except OSError:
                self._hashes[path] = ""
        return self._hashes[path]

    def _behind(self, path: str) -> str:
        """The real place of a file whose name, or that of a folder above it, is a link; "" for its own name."""
        folder, name = posixpath.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(self.root / folder)
        real = os.path.join(self._folders[folder], name)  # noqa: PTH118 - thousands of these are made
        if os.path.islink(real):  # noqa: PTH114
            return os.path.realpath(real)
        if "" not in self._folders:
            self._folders[""] = os.path.realpath(self.root)
        return "" if real == os.path.join(self._folders[""], path) else real  # noqa: PTH118

    def _exists(self, path: str) -> bool:
        if path not in self._present:
            self._present[path] = path in self.overlays or (self.root / path).is_file()
        return self._present[path]

    def _entry(self, kind: str, key: str) -> Path:
        return self.folder / kind / key[:2] / key

    def _read(self, kind: str, key: str) -> bytes | None:
        try:
            data = self._entry(kind, key).read_bytes()
        except OSError:
            return None
        head = len(_MAGIC)
        sealed = data[head + _DIGEST :]
        if data[:head] != _MAGIC or hashlib.sha256(sealed).digest() != data[head : head + _DIGEST]:
            return None
        label = f"{kind}\0{key}\0".encode()
        return sealed[len(label) :] if sealed.startswith(label) else None

    def _write(self, kind: str, key: str, body: bytes) -> None:
        """Put an entry in place in one step. A cache that cannot be written to is no reason to fail."""
        if not self._pruned:
            self._pruned = True
            self.prune()
        sealed = f"{kind}\0{key}\0".encode() + body
        path = self._entry(kind, key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
            with os.fdopen(handle, "wb") as out:
                out.write(_MAGIC + hashlib.sha256(sealed).digest() + sealed)
            Path(temporary).replace(path)
        except OSError:
            return


def _stamp(path: str) -> str:
    """Size and time of change of a file that is too far away to read, "" for one that is not there."""
    try:
        stat = Path(path).stat()
    except OSError:
        return ""
    return f"{stat.st_size}:{stat.st_mtime_ns}"

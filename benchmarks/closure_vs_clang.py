"""Compares what torchless says a translation unit reads with what `clang++ -M` opens, unit by unit, in both passes.

    python benchmarks/closure_vs_clang.py CHECKOUT [--sample N] [--show N]

Clang runs over torchless's stub headers, with the macros that the JIT defines, and `-MG`, so that headers which a build
step writes do not stop it. A unit that clang refuses all the same is listed and left out.
* missed: clang opens a file that our closure does not have. A heavy one makes the exit code 1.
* extra: our closure has a file for certain that clang does not open. What we have only on an undecided condition is
  counted apart.
The clock runs for both, over the same units.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torchless.closure.chains import is_certain
from torchless.closure.directives import Scan, scan_directives
from torchless.closure.heavy import HeavySet, load_heavy
from torchless.closure.model import Closure
from torchless.closure.walk import Checkout, closure_of
from torchless.facts.flags import STUB_PREFIX, find_headers, shown_path, unit_arguments
from torchless.facts.includes import Include, graph_of, specs_of
from torchless.facts.model import TuSpec
from torchless.project.discover import load

CLANG = "clang++-19"
# What aiter's JIT defines on top of flags.py's command line, with the defaults of its environment.
BUILD = (
    "-DWITH_HIP",
    "-DHIPBLAS_V2",
    "-DLEGACY_HIPBLAS_DIRECT",
    "-DCUDA_HAS_FP16=1",
    "-DUSE_PROF_API=1",
    "-D__HIP_PLATFORM_HCC__=1",
    "-DENABLE_ROPE_POSITIONS_INT32=0",
)
_ENTERED = re.compile(r"(\.+) (.+)")
_DEPENDENCY = re.compile(r"(?:[^\s\\]|\\[^\n])+")


@dataclass(frozen=True)
class Opened:
    """What clang opened for a unit: root-relative files; headers outside of the checkout, named as they can be spelled.

    ``asked``: files of the checkout that clang lists without opening them, for a ``__has_include``. ``brought``: files
    of the checkout that an outside header includes, as some stubs do. ``direct``: outside headers that a file of the
    checkout includes; ``through``: for the others, the direct one that brings them, as far as clang says. ``absent``:
    the names of headers that are nowhere. ``refusal``: clang's first error, "" without one.
    """

    inside: frozenset[str]
    asked: frozenset[str]
    brought: frozenset[str]
    outside: frozenset[str]
    direct: frozenset[str]
    through: Mapping[str, str]
    absent: frozenset[str]
    refusal: str


@dataclass
class Difference:
    """What one unit differs in: files that clang opens and we do not have, and the other way round."""

    spec: TuSpec
    missed: list[str] = field(default_factory=list)
    missed_heavy: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    extra_heavy: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def opened(spec: TuSpec, root: Path) -> Opened:
    """Run clang on one unit in one pass; ``root`` is resolved."""
    arguments = unit_arguments(spec, root, find_headers("stubs"))
    command = [CLANG, *arguments, *BUILD, "-M", "-MG", "-H", str(root / spec.source)]
    done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape")
    own = {spec.source}
    brought: set[str] = set()
    direct: set[str] = set()
    through: dict[str, str] = {}
    refusal = ""
    stack = [spec.source]  # the file that is read at each depth
    for line in done.stderr.splitlines():  # the tree, without what -include brings
        entered = _ENTERED.fullmatch(line)
        if entered is None:
            if "error:" in line and not refusal:
                refusal = line
            continue
        shown = shown_path(entered[2], root)
        del stack[len(entered[1]) :]
        first = next((path for path in stack if not _is_inside(path)), "")
        if _is_inside(shown):
            (brought if first else own).add(shown)
        elif first:
            through[_spellable(shown)] = _spellable(first)
        else:
            direct.add(_spellable(shown))
        stack.append(shown)
    if done.returncode and not refusal:
        refusal = f"exit code {done.returncode}"
    names = [name.replace("\\ ", " ") for name in _DEPENDENCY.findall(done.stdout.partition(":")[2])]
    there = {name: shown_path(name, root) for name in names if (root / name).exists()}
    return Opened(
        inside=frozenset(own | brought),
        asked=frozenset(shown for shown in there.values() if _is_inside(shown)) - own - brought,
        brought=frozenset(brought - own),
        outside=frozenset(_spellable(shown) for shown in there.values() if not _is_inside(shown)),
        direct=frozenset(direct),
        through=through,
        absent=frozenset(names).difference(there),
        refusal=refusal,
    )


def _is_inside(shown: str) -> bool:
    return not shown.startswith(("/", "<"))


def _spellable(shown: str) -> str:
    """A stub without its folder (`torch/all.h`); any other file keeps its path, of which the end can be spelled."""
    return shown.removeprefix(STUB_PREFIX).partition("/")[2] if shown.startswith(STUB_PREFIX) else shown


def _has(files: Iterable[str], header: str) -> bool:
    return any(file == header or file.endswith(f"/{header}") for file in files)


def difference(closure: Closure, clang: Opened, heavy: HeavySet) -> Difference:
    """Where a closure and clang's list differ. Headers that only headers outside include are not ours to know.

    But a heavy one that comes through a header which is not heavy has to be of a category that we reach.
    """
    found = Difference(closure.spec)
    ours = {path for path in closure.via if path not in closure.outside}
    for path in sorted(clang.inside - clang.brought - ours):
        found.missed.append(path)
    for path in sorted((*clang.direct, *clang.absent)):
        if not any(path == header or path.endswith(f"/{header}") for header in closure.outside):
            (found.missed_heavy if heavy.category(path) else found.missed).append(path)
    categories = set(heavy.found(closure).values())
    for path in sorted(clang.outside - clang.direct):
        if heavy.category(path) not in ("", *categories) and not heavy.category(clang.through.get(path, "")):
            found.missed_heavy.append(path)
    for path in closure.via:
        known = _has((*clang.outside, *clang.absent), path) if path in closure.outside else path in clang.inside
        if not known and not is_certain(closure, path):
            found.undecided.append(path)
        elif not known:
            is_heavy = bool(heavy.category(path, outside=path in closure.outside))
            (found.extra_heavy if is_heavy else found.extra).append(path)
    return found


def look(root: Path) -> tuple[list[TuSpec], Checkout]:
    """Every way in which the sources at ``root`` are built, and the checkout, of which no file is read yet."""
    project = load(root)
    graph = graph_of(project)
    sources = sorted({source for module in project.modules for source in module.sources} or project.sources)

    def scan(path: str) -> Scan:
        return scan_directives((root / path).read_bytes())

    def resolve(includer: str, spelled: str, angled: bool, folders: Sequence[str]) -> str:
        return graph.resolve(includer, Include(0, spelled, angled), folders)

    return [spec for source in sources for spec in specs_of(project, graph, source)], Checkout(scan, resolve)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="look at so many units only, evenly spread")
    parser.add_argument("--show", type=int, default=20, help="differing units to print")
    options = parser.parse_args()
    root = Path(os.path.realpath(options.checkout))
    specs, checkout = look(root)
    if options.sample:
        specs = [specs[n * len(specs) // options.sample] for n in range(min(options.sample, len(specs)))]
    began = time.perf_counter()
    closures = [closure_of(checkout, spec) for spec in specs]
    ours = time.perf_counter() - began
    again = Checkout(checkout.scanned, checkout.resolve)
    began = time.perf_counter()
    for spec in specs:
        closure_of(again, spec)
    warm = time.perf_counter() - began
    began = time.perf_counter()
    lists = [opened(spec, root) for spec in specs]
    theirs = time.perf_counter() - began
    report(closures, lists, load_heavy(), options.show)
    print(f"ours, cold: {ours:.2f} s; directives scanned before: {warm:.2f} s; {CLANG} -M over stubs: {theirs:.1f} s")


def report(closures: Sequence[Closure], lists: Sequence[Opened], heavy: HeavySet, show: int) -> None:
    """Print the comparison; exit with 1 when a heavy header was missed."""
    accepted = [(c, o) for c, o in zip(closures, lists, strict=True) if not o.refusal]
    differences = [difference(closure, clang, heavy) for closure, clang in accepted]
    sources = {closure.spec.source for closure in closures}
    print(f"{len(sources)} sources, {len(closures)} units and passes, {len(accepted)} accepted by {CLANG}")
    for closure, clang in zip(closures, lists, strict=True):
        if clang.refusal:
            print(f"  refused: {_name(closure.spec)}: {clang.refusal}")
    asked = sorted({path for _, clang in accepted for path in clang.asked})
    print(f"listed for a __has_include, not opened: {', '.join(asked) or 'none'}")
    for kind in ("missed_heavy", "missed", "extra_heavy", "extra", "undecided"):
        rows = [(d, getattr(d, kind)) for d in differences if getattr(d, kind)]
        print(f"{kind.replace('_', ' ')}: {sum(len(files) for _, files in rows)} in {len(rows)} units and passes")
        for file, count in Counter(file for _, files in rows for file in files).most_common(show):
            where = next(_name(d.spec) for d, files in rows if file in files)
            print(f"  {count:4} {file}  such as in {where}")
    if any(d.missed_heavy for d in differences):
        sys.exit(1)


def _name(spec: TuSpec) -> str:
    return f"{spec.source} ({'device' if spec.device else 'host'}, ENABLE_CK={int(spec.enable_ck)})"


if __name__ == "__main__":
    main()

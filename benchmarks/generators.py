"""What generators print before `torchless migrate --select TL512` and after: the same instances, keys and functions?

    python benchmarks/generators.py BEFORE AFTER [--migrated] [--python PYTHON] [--arch ARCH] [--modules a8w8,...]

BEFORE and AFTER are two versions of one checkout. The generator commands of the JIT configuration are run in both, with
a stand-in for hipconfig and no GPU. Compared are the files that are printed, and in them the rows of each look-up
table: as sets of (key, function), and in AFTER their order and that no key stands twice. PYTHON must have what the
generators import (pandas). Exits with 1 when anything but the order of rows differs.

--migrated is for an AFTER whose modules have left torch. Then files may differ, and what counts is that they are the
same files with the same rows, which of torch's names they hold, and, where a file differs, how many errors the first
two sources of the module have when they are parsed over the stub headers in both passes, for gfx942.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from torchless.facts.clang import parse
from torchless.facts.spec import TuSpec

HIPCONFIG = "#!/bin/sh\necho 7.0.0-0\n"
CONFIGS = "aiter/configs"
_PART = re.compile(r'"([^"]*)"|(-?\d+)')
Key = tuple[str | int, ...]


_TUNED = {
    "AITER_CONFIG_GEMM_A4W4_FILE": "a4w4_blockscale_tuned_gemm",
    "AITER_CONFIG_GEMM_A8W8_FILE": "a8w8_tuned_gemm",
    "AITER_CONFIG_GEMM_A8W8_BPRESHUFFLE_FILE": "a8w8_bpreshuffle_tuned_gemm",
    "AITER_CONFIG_GEMM_A8W8_BLOCKSCALE_FILE": "a8w8_blockscale_tuned_gemm",
    "AITER_CONFIG_GEMM_A8W8_BLOCKSCALE_BPRESHUFFLE_FILE": "a8w8_blockscale_bpreshuffle_tuned_gemm",
    "AITER_CONFIG_A8W8_BATCHED_GEMM_FILE": "a8w8_tuned_batched_gemm",
    "AITER_CONFIG_BF16_BATCHED_GEMM_FILE": "bf16_tuned_batched_gemm",
}
"""The files with tuned shapes, as the configuration calls them; they are read where they lie."""


def commands(root: Path, config: Path) -> Iterator[tuple[str, str]]:
    """(module, command with {0} for the output folder) of every generator that prints a look-up table."""
    meta = next(folder for folder in (root, root / "aiter_meta") if (folder / "csrc").is_dir())
    tuned = {name: str(root / CONFIGS / f"{stem}.csv") for name, stem in _TUNED.items()}
    names = {
        "AITER_CSRC_DIR": str(meta / "csrc"),
        "AITER_META_DIR": str(meta),
        "AITER_ROOT_DIR": str(root),
        "AITER_CONFIGS": SimpleNamespace(**tuned),
        "os": os,
        **tuned,
    }
    for module, entry in json.loads(config.read_text()).items():
        listed = entry.get("blob_gen_cmd", "")
        for text in listed if isinstance(listed, list) else [listed]:
            if "gen_instances" not in text and "moe_aux" not in text:
                continue
            try:
                yield module, eval(text, names)  # as the JIT does
            except Exception as error:  # a name that only the JIT knows: said, not hidden
                print(f"{module}: {text} is not read here ({error})", file=sys.stderr)


def without_rocm(scratch: Path, arch: str) -> dict[str, str]:
    """An environment in which generators run without ROCm, for ``arch``; what stands in for it is in ``scratch``."""
    tool = scratch / "hipconfig"
    tool.write_text(HIPCONFIG)
    tool.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{scratch}{os.pathsep}{os.environ['PATH']}",
        "GPU_ARCHS": arch,
        "CU_NUM": "304" if arch == "gfx942" else "256",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def printed(command: str, python: str, environment: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """(text of each file that the command prints, by its path in the output folder; why it failed)."""
    with tempfile.TemporaryDirectory() as scratch:
        blob = Path(scratch, "module", "blob")
        blob.mkdir(parents=True)
        words = command.replace("{}", str(blob)).replace("{0}", str(blob)).split()
        done = subprocess.run([python, *words], env=dict(environment), capture_output=True, text=True, check=False)
        if done.returncode:
            return {}, (done.stderr.strip().splitlines() or ["no message"])[-1]
        files = {p.relative_to(blob).as_posix(): p.read_text() for p in sorted(blob.rglob("*")) if p.is_file()}
        return {path: text.replace(scratch, "") for path, text in files.items()}, ""


def tables(text: str) -> dict[str, list[tuple[Key, str]]]:
    """The rows (key, function) of each macro whose body is rows, in their order, by the macro's name and number."""
    out: dict[str, list[tuple[Key, str]]] = {}
    for number, part in enumerate(re.split(r"^\s*#\s*define\s+", text, flags=re.M)[1:]):
        name = re.match(r"\w+", part)
        body = re.match(r"(?:.*\\\n)*.*", part)
        assert name is not None and body is not None
        # a row may go over several lines
        flat = re.sub(r"\s*\\\n\s*", " ", body.group())
        rows = re.findall(r'\{\s*(\{[^{}]*\}|"[^"]*"|-?\d+)\s*,\s*([^{}]+?)\s*\}\s*(?:,|\})', flat)
        if rows:
            out[f"{name.group()}#{number}"] = [(key_of(key), function) for key, function in rows]
    return out


def key_of(spelled: str) -> Key:
    """A key as C++ orders it: numbers as numbers, texts by bytes."""
    return tuple(text if number == "" else int(number) for text, number in _PART.findall(spelled))


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """What differs beyond the order of rows and rows that stood twice."""
    if old.keys() != new.keys():
        yield f"other files: {sorted(old.keys() ^ new.keys())[:3]}"
    for path in sorted(old.keys() & new.keys()):
        before, after = tables(old[path]), tables(new[path])
        if not before or old[path] == new[path]:
            if old[path] != new[path]:
                yield f"{path} differs"
            continue
        if sorted(set(map(str.strip, old[path].splitlines()))) != sorted(set(map(str.strip, new[path].splitlines()))):
            yield f"{path}: other lines"
        for name in sorted(before.keys() | after.keys()):
            first: dict[Key, str] = {}
            for key, function in before.get(name, ()):
                first.setdefault(key, function)
            if first != dict(after.get(name, ())):
                yield f"{path}: {name} has other rows"


_TORCH = re.compile(r"\b(?:torch|at|c10)::\w|\bTORCH_CHECK\b|#\s*include\s*<(?:torch|ATen|c10)/")
_PARSED = 2  # sources of a module


def migrated_row(name: str, old: Mapping[str, str], new: Mapping[str, str], roots: Sequence[Path]) -> str:
    """The row of a module whose generator has left torch."""
    changed = sum(old[path] != new[path] for path in old.keys() & new.keys())
    names = [sum(len(_TORCH.findall(text)) for text in files.values()) for files in (old, new)]
    same = old.keys() == new.keys() and all(tables(old[path]) == tables(new[path]) for path in old)
    failed: list[int | str] = ["", ""]
    if changed:
        failed = [errors(files, root) for files, root in zip((old, new), roots, strict=True)]
    rows = f"{counted(new)[0]} | {counted(new)[1]} | {changed} | {names[0]} | {names[1]}"
    return f"| {name} | {rows} | {failed[0]} | {failed[1]} | {'yes' if same else 'no'} |"


def errors(files: Mapping[str, str], root: Path) -> int:
    """Errors in what is printed, over the first sources that are, in both passes."""
    own = sorted({p.parent.relative_to(root).as_posix() for p in root.glob("csrc/ck*/include/*.h*")})
    found = 0
    with tempfile.TemporaryDirectory() as blob:
        for path, text in files.items():
            place = Path(blob, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        folders = sorted({str(Path(blob, path).parent) for path in files})
        include_dirs = (*folders, "csrc/include", *own)
        for source in [path for path in files if path.endswith((".cu", ".cpp"))][:_PARSED]:
            for device in (False, True):
                spec = TuSpec(str(Path(blob, source)), include_dirs, device=device, enable_ck=True)
                facts = parse(spec, root=root, want_facts=False)
                found += bool(facts.failure) + sum(d.severity >= 3 for d in facts.diagnostics)
    return found


def disorder(files: Mapping[str, str]) -> Iterator[str]:
    """The tables that are not sorted, or hold a key twice."""
    for path, text in files.items():
        for name, rows in tables(text).items():
            keys = [key for key, _ in rows]
            if any(not a < b for a, b in itertools.pairwise(keys)):
                yield f"{path}: {name}"


def counted(files: Mapping[str, str]) -> tuple[int, int]:
    """(sources that are printed, rows of tables)."""
    sources = sum(path.endswith((".cu", ".cpp")) for path in files)
    return sources, sum(len(rows) for text in files.values() for rows in tables(text).values())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--migrated", action="store_true", help="AFTER has left torch")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--modules", default="", help="only modules whose names hold one of these")
    options = parser.parse_args(arguments)
    wanted = [word for word in options.modules.split(",") if word]
    failed = False
    head = ("sources", "rows before", "rows after", "sorted before", "sorted after", "the same")
    if options.migrated:
        head = ("sources", "rows", "files differ", "torch before", "after", "errors before", "after", "the same rows")
    print(f"| module | {' | '.join(head)} |\n|{'---|' * (len(head) + 1)}")
    roots = [options.before.resolve(), options.after.resolve()]
    with tempfile.TemporaryDirectory() as scratch:
        environment = without_rocm(Path(scratch), options.arch)
        listed = [dict_of(root) for root in roots]
        for name in listed[0]:
            if wanted and not any(word in name for word in wanted):
                continue
            (old, why), (new, why_not) = (printed(each[name], options.python, environment) for each in listed)
            if why or why_not:
                print(f"| {name} | | | | | | not run: {why or why_not} |", flush=True)
                failed = failed or bool(why) != bool(why_not)
                continue
            if options.migrated:
                row = migrated_row(name, old, new, roots)
                failed = failed or not row.endswith("yes |")
                print(row, flush=True)
                continue
            found, wrong = list(differences(old, new)), list(disorder(new))
            failed = failed or bool(found or wrong)
            rows = f"{counted(old)[0]} | {counted(old)[1]} | {counted(new)[1]}"
            sorted_before = "no" if any(disorder(old)) else "yes"
            answer = "; ".join(found) or "yes"
            print(f"| {name} | {rows} | {sorted_before} | {'; '.join(wrong) or 'yes'} | {answer} |", flush=True)
    return int(failed)


def dict_of(root: Path) -> dict[str, str]:
    """Command by module (numbered where a module has several)."""
    config = next(p for p in (root / "aiter/jit/optCompilerConfig.json",) if p.is_file())
    out: dict[str, str] = {}
    for module, command in commands(root, config):
        name = module.removeprefix("module_")
        out[name if name not in out else f"{name}+"] = command
    return out


if __name__ == "__main__":
    sys.exit(main())

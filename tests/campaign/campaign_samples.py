"""A checkout with several modules in aiter's shape, in git, and what tests do with it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.api.conftest import CORE, TARGET, configuration
from torchless.campaign.emitting import Emitter, How
from torchless.campaign.model import Batch, Plan
from torchless.campaign.repository import open_repository
from torchless.campaign.state import Campaign, load, save, state_file
from torchless.campaign.trees import Trees
from torchless.campaign.updating import numbered, reconciled
from torchless.model import Unit, UnitStatus
from torchless.report.campaign_letter import Told

NAMES = ("alpha", "beta", "delta", "gamma", "omega")
TIE = "static_assert(sizeof(int) == 4);\n"
PAD = "".join(f"// {n}\n" for n in range(12))


def header(name: str) -> str:
    return f"""\
#pragma once
#include <torch/extension.h>
void {name}(torch::Tensor& out, const torch::Tensor& input);
"""


def kernel(name: str, body: str = "") -> str:
    return f"""\
#include "{name}.h"
#include <ATen/hip/HIPContext.h>

__global__ void {name}_kernel(float* out, const float* input) {{ out[threadIdx.x] = input[threadIdx.x]; }}

void {name}(torch::Tensor& out, const torch::Tensor& input)
{{
    TORCH_CHECK(out.numel() == input.numel(), "{name}: sizes differ");
{body}    const hipStream_t stream = at::hip::getCurrentHIPStream();
    {name}_kernel<<<1, 256, 0, stream>>>(out.data_ptr<float>(), input.data_ptr<float>());
}}
"""


def op(name: str) -> str:
    return f"""\
from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_{name}")
def {name}(out: Tensor, input: Tensor) -> None: ...
"""


def bindings() -> str:
    """Rows of which alpha's and beta's are neighbours, and the others far apart."""
    row = '#define {0}_PYBIND m.def("{1}", &{1}, py::arg("out"), py::arg("input"));\n'
    rows = [row.format(name.upper(), name) for name in NAMES]
    setter = """\
#define AITER_SET_STREAM_PYBIND \\
    m.def("_set_current_hip_stream", \\
          [](int64_t stream) { aiter::setCurrentHIPStream(reinterpret_cast<hipStream_t>(stream)); });
"""
    return (
        '#pragma once\n#include "aiter_stream.h"\n#include "aiter_tensor.h"\n#include <pybind11/pybind11.h>\n'
        f"namespace py = pybind11;\n{setter}{PAD}{rows[0]}{rows[1]}{PAD}{rows[2]}{PAD}{rows[3]}{PAD}{rows[4]}"
    )


def files() -> dict[str, str]:
    """Five modules: alpha and beta are tied by text, delta and gamma are independent, omega is blocked."""
    out = {f"csrc/include/{name}": text for name, text in TARGET.items()}
    out["csrc/include/rocm_ops.hpp"] = bindings()
    for name in NAMES:
        body = "    auto product = torch::matmul(out, input);\n" if name == "omega" else ""
        out[f"csrc/include/{name}.h"] = header(name)
        out[f"csrc/kernels/{name}.cu"] = kernel(name, body)
        out[f"csrc/pybind/{name}_pybind.cu"] = (
            f'#include "rocm_ops.hpp"\n#include "{name}.h"\n'
            f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ {name.upper()}_PYBIND; }}\n"
        )
        out[f"aiter/ops/{name}.py"] = op(name)
    for package in ("aiter", "aiter/jit", "aiter/ops"):
        out[f"{package}/__init__.py"] = ""
    out["aiter/jit/core.py"] = CORE
    modules = {f"module_{name}": [f"pybind/{name}_pybind.cu", f"kernels/{name}.cu"] for name in NAMES}
    out["aiter/jit/optCompilerConfig.json"] = configuration(modules)
    return out


def lay_out(root: Path, wanted: Mapping[str, str] | None = None) -> Path:
    """Write ``wanted`` below ``root``."""
    for path, text in (files() if wanted is None else wanted).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    return root


def git(root: Path, *arguments: str, check: bool = True, **more: object) -> str:
    """What git says in ``root``."""
    command = ["git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, **more)  # type: ignore[call-overload]
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode()}{done.stdout.decode()}")
    return str(done.stdout.decode("utf-8", "replace"))


def commit_all(root: Path, message: str = "start") -> str:
    """Commit everything in ``root``, and give the commit."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD").strip()


def repository(root: Path, wanted: Mapping[str, str] | None = None) -> Path:
    """A git tree with ``wanted`` committed on branch main, whose own identity is set."""
    lay_out(root, wanted)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Tess Ter")
    git(root, "config", "user.email", "tess@example.org")
    commit_all(root)
    return root


def replace_in(root: Path, path: str, old: str, new: str) -> None:
    """Replace the one ``old`` in a file."""
    text = (root / path).read_text()
    assert text.count(old) == 1, (path, old, text.count(old))
    (root / path).write_text(text.replace(old, new))


def tree_of(root: Path, revision: str) -> str:
    """The tree of a revision, without what a campaign keeps there."""
    return git(root, "ls-tree", "-r", revision, "--", "csrc", "aiter")


Edits = Mapping[str, tuple[str, str]]


def plan_of(root: Path, *batches: tuple[str, Edits], needs: Mapping[str, tuple[str, ...]] | None = None) -> Plan:
    """A plan without an engine: for each batch its name and path -> (old, new) text, on the files as they are."""
    needs = needs or {}
    paths = {path for _, edits in batches for path in edits}
    base = {path: (root / path).read_bytes() for path in paths}
    edits_of = dict(batches)

    def made(names: list[str]) -> dict[str, bytes]:
        out: dict[str, bytes] = {}
        for name in names:
            for path, (old, new) in edits_of[name].items():
                text = out.get(path, base[path])
                assert text.count(old.encode()) == 1, (path, old)
                out[path] = text.replace(old.encode(), new.encode())
        return out

    names = [name for name, _ in batches]
    told = []
    for number, (name, edits) in enumerate(batches, 1):
        unit = Unit(name, (f"module_{name}",), (name,), tuple(edits), UnitStatus.MIGRATED)
        told.append(Batch(name, number, (unit,), 2, tuple(sorted(edits)), needs=needs.get(name, ())))
    series = {name: made(names[: n + 1]) for n, name in enumerate(names)}
    stacks = {}
    for name in names:
        chain = [*needs.get(name, ()), name]
        stacks[name] = tuple((each, made(chain[: n + 1])) for n, each in enumerate(chain))
    return Plan(str(root), tuple(told), series, stacks, base)


def told(*_: object) -> Told:
    """What a batch is told with when nothing was verified."""
    return Told(None, "Formatting: nothing.", "torchless plan")


def emit(root: Path, plan: Plan, how: How, campaign: Campaign | None = None, **more: object) -> Campaign:
    """One run over ``plan`` as the command line makes it, the plan itself aside; the state is on disk afterwards."""
    repository = open_repository(root)
    base = repository.head()
    file = state_file(root)
    before = campaign or load(file) or Campaign()
    plan = numbered(plan, before)
    trees = Trees(repository, plan, base)
    trees.check()
    now = reconciled(plan, before, repository, base, how.kind, how.folder)
    save(file, now)
    wanted = more.pop("wanted", frozenset(batch.name for batch in plan.ready))
    emitter = Emitter(trees, how, now, more.pop("save", lambda c: save(file, c)), told, wanted, **more)  # type: ignore[arg-type]
    return emitter.run()

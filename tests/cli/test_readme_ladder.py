"""The ladder that README shows is what `torchless verify` prints about the bundled example; figures may differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchless.verify.trace.toolchain import find_torch

README = Path(__file__).resolve().parents[2] / "README.md"


def shown() -> str:
    found = re.search(r"\n```text\n(compared with the last write: .*?)```", README.read_text(), re.S)
    assert found is not None
    return found.group(1)


def without_figures(text: str) -> list[str]:
    lines = [re.sub(r" \(\d+\.\d s\)$", "", line) for line in text.splitlines()]
    return [re.sub(r"\d+(\.\d+)*(\+\w+)?", "N", line) for line in lines]


@pytest.mark.clang
def test_the_ladder_in_the_readme_is_real(run, mini_aiter):
    if find_torch() is None:
        pytest.skip("torch is not installed, and the README shows a run on it")
    assert run("migrate", "csrc", "--write", cwd=mini_aiter).code < 2
    done = run("verify", "--module", "module_scale", cwd=mini_aiter)
    assert done.code == 0
    assert without_figures(done.out.decode()) == without_figures(shown())

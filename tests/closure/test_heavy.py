from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchless.closure.heavy import HeavyError, load_heavy, read_heavy, with_extra
from torchless.closure.model import Closure

Follow = Callable[..., Closure]


@pytest.mark.parametrize(
    ("header", "category"),
    [
        ("torch/extension.h", "torch"),
        ("ATen/hip/HIPContext.h", "torch"),
        ("c10/util/Half.h", "torch"),
        ("caffe2/core/x.h", "torch"),
        ("ck_tile/core.hpp", "ck"),
        ("ck/utility/data_type.hpp", "ck"),
        ("fmha_fwd.hpp", "ck"),
        ("pybind11/stl.h", "pybind11"),
        ("unordered_map", ""),
        ("functional", ""),
        ("vector", ""),
        ("torch.h", ""),
        ("my/torch/all.h", ""),
        ("hip/hip_runtime.h", ""),
        ("ck_tile_shim.h", ""),
    ],
)
def test_categories(header: str, category: str) -> None:
    assert load_heavy().category(header) == category


def test_files_of_the_checkout_are_not_torch() -> None:
    heavy = load_heavy()
    assert heavy.category("torch/extension.h", outside=False) == ""
    assert heavy.category("csrc/include/torch/mha_fwd.h", outside=False) == ""
    assert heavy.category("3rdparty/composable_kernel/include/ck_tile/core.hpp", outside=False) == "ck"


def test_what_a_unit_finds(follow: Follow) -> None:
    files = {
        "a.cu": '#include "torch/own.h"\n#include <functional>\n#include <ck_tile/core.hpp>\n#include "c10/gone.h"\n',
        "torch/own.h": "#include <torch/all.h>\n",
    }
    heavy = load_heavy()
    found = heavy.found(follow(files))
    assert list(found.items()) == [("torch/all.h", "torch"), ("ck_tile/core.hpp", "ck"), ("c10/gone.h", "torch")]
    files["torch/own.h"] += "#include <unordered_map>\n"
    found = heavy.found(follow(files))
    assert found["unordered_map"] == found["functional"] == "std-function"
    assert list(found)[:3] == ["torch/all.h", "unordered_map", "functional"]


def test_headers_of_the_users(follow: Follow) -> None:
    heavy = load_heavy(("rocblas/*=rocblas", " csrc/big.h = big-one "))
    assert heavy.category("rocblas/rocblas.h") == "rocblas"
    assert heavy.category("csrc/big.h", outside=False) == "big-one"
    assert heavy.category("torch/all.h") == "torch"
    assert with_extra(heavy, [("torch/*", "mine")]).category("torch/all.h") == "mine"
    assert heavy.categories[:2] == ("rocblas", "big-one")
    files = {"a.cu": '#include "csrc/big.h"\n#include <rocblas/x.h>\n', "csrc/big.h": ""}
    assert list(heavy.found(follow(files)).values()) == ["big-one", "rocblas"]


def test_every_category_says_why() -> None:
    heavy = load_heavy()
    assert all(heavy.why(category) for category in heavy.categories)
    assert heavy.why("no-such") == ""


@pytest.mark.parametrize("text", ["", "rocblas", "=x", "rocblas=", "a=b c", "a=1", "a=b=c"])
def test_what_a_user_may_not_write(text: str) -> None:
    with pytest.raises(HeavyError, match="write PATTERN=CATEGORY"):
        load_heavy((text,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "not a TOML file"),
        ("[other]\n", "sections are wanted"),
        ("heavy = 1\n", "sections are wanted"),
        ("[[heavy]]\nheaders = ['a']\n", "'category' is missing"),
        ("[[heavy]]\ncategory = 'a'\nheaders = 'a'\n", "'headers' must be"),
        ("[[heavy]]\ncategory = 'a'\nheaders = []\n", "'headers' must be"),
        ("[[heavy]]\ncategory = 'a'\nheaders = ['b']\nwhat = 1\n", "allowed keys"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "heavy.toml"
    path.write_text(text)
    with pytest.raises(HeavyError, match=message) as caught:
        read_heavy(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(HeavyError):
        read_heavy(tmp_path / "gone.toml")

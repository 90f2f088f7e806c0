"""Headers that several sources share, in a plain folder of C++: no modules, no bindings, no Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.api.conftest import SCALE, TARGET, Checkout, configuration
from torchless import api

Write = Callable[[Mapping[str, str]], Checkout]

SHARED = """\
#pragma once
#include <torch/all.h>
inline void check_rank(const torch::Tensor& x) { TORCH_CHECK(x.dim() == 2, "rank"); }
"""
TORCH = "#include <torch/all.h>\n"
FILES = {
    **{f"include/{name}": text for name, text in TARGET.items()},
    "include/shared.h": SHARED,
    "a.cu": '#include "shared.h"\nvoid a(const torch::Tensor& x) { check_rank(x); }\n',
    "b.cu": '#include "shared.h"\nvoid b(const torch::Tensor& x) { check_rank(x); }\n',
    "c.cu": f'#include "shared.h"\n{TORCH}void c(const torch::Tensor& x) {{ x.dim(); }}\n',
}


def test_a_plain_folder_migrates(write: Write) -> None:
    ran = write(FILES).migrate(".")
    assert ran.statuses == {"a.cu:a": "migrated", "c.cu:c": "migrated"}
    assert ran.new == {
        "include/shared.h": SHARED.replace("<torch/all.h>", '"aiter_tensor.h"')
        .replace("torch::Tensor", "aiter_tensor_t")
        .replace("TORCH_CHECK", "AITER_CHECK"),
        "a.cu": FILES["a.cu"].replace("torch::Tensor", "aiter_tensor_t"),
        "b.cu": FILES["b.cu"].replace("torch::Tensor", "aiter_tensor_t"),
        "c.cu": FILES["c.cu"].replace("torch::Tensor", "aiter_tensor_t").replace(TORCH, ""),
    }
    ran.write()
    again = Checkout(ran.root).migrate(".")
    assert (again.statuses, again.new) == ({}, {})


def test_a_changing_header_pulls_in_the_source_that_names_its_function(write: Write) -> None:
    """b.cu calls check_rank and must follow; c.cu only includes the header and stays as it is."""
    ran = write(FILES).migrate("a.cu")
    assert ran.statuses == {"a.cu:a": "migrated"}
    assert set(ran.new) == {"a.cu", "b.cu", "include/shared.h"}
    assert "<torch/all.h>" not in ran.new["include/shared.h"]
    assert ran.result.grouping is not None
    assert api.why_joined(ran.result, "a", "b.cu").splitlines() == [
        "a (a.cu) -- a uses check_rank -- check_rank (include/shared.h)",
        "check_rank (include/shared.h) -- b uses check_rank -- b (b.cu)",
    ]


def test_what_an_outsider_lives_on_stays_until_it_moves_too(write: Write) -> None:
    """c.cu has torch through shared.h alone, as it would be without that include it cannot do yet."""
    checkout = write({**FILES, "c.cu": FILES["c.cu"].replace(TORCH, "")})
    ran = checkout.migrate("a.cu")
    assert ran.statuses == {"a.cu:a": "migrated"}
    assert set(ran.new) == {"a.cu", "b.cu", "include/shared.h"}
    header = ran.new["include/shared.h"]
    assert TORCH in header and '#include "aiter_tensor.h"\n' in header and "torch::" not in header
    (kept,) = ran.findings("a.cu:a", "TL101")
    assert (kept.path, kept.line, kept.edits, kept.blocks) == ("include/shared.h", 2, (), False)
    assert "not yet: c.cu lives on it" in kept.message
    assert [f.path for f in ran.findings("a.cu:a", "TL009")] == ["include/shared.h"]
    # all together it goes
    assert TORCH not in checkout.migrate("a.cu", "c.cu").new["include/shared.h"]
    # and so it does once c.cu moves alone
    ran.write()
    later = checkout.migrate("c.cu")
    assert later.statuses == {"c.cu:c": "migrated"}
    assert later.new == {
        "c.cu": FILES["c.cu"].replace("torch::Tensor", "aiter_tensor_t").replace(TORCH, ""),
        "include/shared.h": header.replace(TORCH, ""),
    }
    (gone,) = later.findings("c.cu:c", "TL101")
    assert (gone.path, len(gone.edits)) == ("include/shared.h", 1)
    assert later.unit("c.cu:c").files == ("c.cu", "include/shared.h")
    later.write()
    assert checkout.migrate("c.cu").new == {}


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        ('#include "shared.h"\nvoid d(const at::Tensor& x);\n', True),  # lives on the header still
        (f'#include "shared.h"\n{TORCH}void d(const at::Tensor& x);\n', False),  # has an include of its own
        ('#include "shared.h"\n#if 0\nvoid d(const at::Tensor& x);\n#endif\n', False),
        ('#include "shared.h"\nauto d = "at::Tensor"; // torch::Tensor\n', False),
    ],
)
def test_a_lent_include_stays_while_anybody_lives_on_it(write: Write, other: str, kept: bool) -> None:
    lender = "#pragma once\n#include <torch/all.h>\ninline int rank() { return 2; }\n"
    source = '#include "shared.h"\nvoid c(const torch::Tensor& x) { x.dim(); }\n'
    ran = write({**FILES, "include/shared.h": lender, "a.cu": "", "b.cu": "", "c.cu": source, "d.cu": other}).migrate(
        "c.cu"
    )
    assert ran.statuses == {"c.cu:c": "migrated"}
    assert ("include/shared.h" not in ran.new) is kept


def test_a_header_named_alone_selects_through_the_sources_that_include_it(write: Write) -> None:
    between = {"include/between.h": '#include "shared.h"\n', "e.cu": '#include "include/between.h"\nint e;\n'}
    checkout = write({**FILES, **between, "sub/other.cu": f"{TORCH}void other(const torch::Tensor& x);\n"})
    ran = checkout.migrate("include/shared.h")
    assert ran.statuses == {"a.cu:a": "migrated"}
    assert set(ran.new) == {"a.cu", "b.cu", "include/shared.h"}
    assert "sub/other.cu" not in {f.path for f in ran.result.findings}


@pytest.mark.parametrize("given", [{}, {"defines": ("WIDE",), "include_dirs": ("extra",)}])
def test_what_the_user_adds_to_command_lines_holds_for_outsiders_too(write: Write, given: dict[str, object]) -> None:
    """c.cu lives on the header's torch with -D alone, and reaches the header with -I alone."""
    narrow = "#ifdef WIDE\nvoid c(const torch::Tensor& x) { x.dim(); }\n#endif\n"
    outsider = {"c.cu": f'#include "shared.h"\n#include <found.h>\n{narrow}', "extra/found.h": "#define FOUND 1\n"}
    ran = write({**FILES, **outsider}).migrate("a.cu", **given)
    assert ran.statuses == {"a.cu:a": "migrated"}
    assert (TORCH in ran.new["include/shared.h"]) is bool(given)
    kept = [f.message for f in ran.findings("a.cu:a", "TL101") if not f.edits]
    assert [m.endswith("(not yet: c.cu lives on it)") for m in kept] == [True] * bool(given)


def test_an_outsider_that_breaks_for_another_reason_backs_the_unit_out(write: Write) -> None:
    """c.cu takes the address of the function under a macro's name, which nobody can see."""
    taken = "auto* p = static_cast<void (*)(const torch::Tensor&)>(&CAT(check_, rank));\n"
    hidden = f'#include "shared.h"\n{TORCH}#define CAT(a, b) a##b\n{taken}'
    ran = write({**FILES, "c.cu": hidden}).migrate("a.cu")
    assert (ran.statuses, ran.new) == ({"a.cu:a": "backed out"}, {})
    (failed,) = ran.findings("a.cu:a", "TL008")
    assert (failed.path, failed.line) == ("c.cu", 4)
    assert failed.message.endswith("(c.cu:4 of the new text; host pass of c.cu, and 1 more)")


def test_an_include_of_torch_that_nothing_uses_is_named(write: Write) -> None:
    checkout = write(
        {
            **{path: text for path, text in FILES.items() if path.startswith("include/aiter")},
            "include/old.h": f"#pragma once\n{TORCH}int old();\n",
            "d.cu": f'#include "old.h"\n{TORCH}int d;\n',
        }
    )
    ran = checkout.migrate(".")
    assert ran.new == {}
    left = [("TL101", "d.cu", 2), ("TL101", "include/old.h", 2)]
    assert [(f.code, f.path, f.line) for f in ran.result.findings] == left
    assert [f.path for f in checkout.migrate("d.cu").result.findings] == ["d.cu"]


def test_a_default_stays_where_the_header_that_has_it_is_not_seen(write: Write) -> None:
    """Without modules nothing ties a.cu to the header, so a.cu will not include it and needs its own defaults."""
    header = "#pragma once\n#include <torch/all.h>\nint own(const torch::Tensor& x, int n = 4);\n"
    source = f"{TORCH}int own(const torch::Tensor& x, int n = 4) {{ return n; }}\n"
    source += "int a(const torch::Tensor& x) { return own(x); }\n"
    user = '#include "own.h"\nint user(const torch::Tensor& x) { return own(x); }\n'
    target = {path: text for path, text in FILES.items() if path.startswith("include/aiter")}
    ran = write({**target, "include/own.h": header, "a.cu": source, "user.cu": user}).migrate(".")
    assert ran.statuses == {"a.cu:own": "migrated", "user.cu:user": "migrated"}
    after = source.replace("torch::Tensor", "aiter_tensor_t").replace("<torch/all.h>", '"aiter_tensor.h"')
    assert ran.new["a.cu"] == after
    assert "int n = 4" in ran.new["include/own.h"]


def test_a_default_goes_with_the_header_that_comes(write: Write) -> None:
    """p.cu will include own.h for one function, which ends what it repeats of another; not so what own.h lacks."""
    header = "#pragma once\n#include <torch/all.h>\nvoid own(torch::Tensor& x, int n = 4);\nint count(int n = 5);\n"
    source = "int count(int n = 5) { return n; }\nint more(int n = 6) { return n; }\n"
    source += f"{TORCH}void own(torch::Tensor& x, int n = 4) {{ x.dim(); }}\n"
    source += "void other(torch::Tensor& x) { own(x, count() + more()); }\n"
    bind = (
        '#include "rocm_ops.hpp"\n#include "own.h"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("own", &own); }\n'
    )
    modules = {"module_own": ["p.cu", "bind.cu"]}
    files = {"csrc/include/own.h": header, "csrc/p.cu": source, "csrc/bind.cu": bind}
    ran = write({**SCALE, **files, "aiter/jit/optCompilerConfig.json": configuration(modules)}).migrate("csrc/p.cu")
    assert ran.statuses == {"module_own": "migrated"}
    assert "int count(int n)" in ran.new["csrc/p.cu"] and "aiter_tensor_t& x, int n)" in ran.new["csrc/p.cu"]
    assert "int more(int n = 6)" in ran.new["csrc/p.cu"]
    assert '#include "own.h"' in ran.new["csrc/p.cu"]


def test_a_default_stays_where_the_header_declares_nothing_that_changes(write: Write) -> None:
    header = f"#pragma once\n{TORCH}int count(int n = 5);\nvoid elsewhere(torch::Tensor& x);\n"
    source = f"{TORCH}int count(int n = 5) {{ return n; }}\n"
    source += "void own(torch::Tensor& x) { int rows = count(); }\n"
    bind = '#include "rocm_ops.hpp"\n#include "count.h"\nvoid own(torch::Tensor& x);\n'
    bind += 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("own", &own); }\n'
    modules = {"module_own": ["p.cu", "bind.cu"]}
    files = {"csrc/include/count.h": header, "csrc/p.cu": source, "csrc/bind.cu": bind}
    ran = write({**SCALE, **files, "aiter/jit/optCompilerConfig.json": configuration(modules)}).migrate("csrc/p.cu")
    assert ran.statuses == {"module_own": "migrated"}
    assert "int count(int n = 5)" in ran.new["csrc/p.cu"]

"""Random C++ expressions and bodies give what a compiler makes of them, wherever what was assumed holds."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from compiled_samples import Inputs, Translated, compile_and_run, expected, same, translate
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.clang

DEFINITIONS = """
constexpr int kBlock = 64;
static const int64_t kWide = 1 << 20;
enum { kFirst = 3, kSecond, kThird = kSecond * 2 };
#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define WIDTH 128
inline int ceil_div(int a, int b) { return (a + b - 1) / b; }
template <typename T> constexpr T round_up(T a, T b) { return (a + b - 1) / b * b; }
static int pick(int n)
{
    if (n > 100)
        return 256;
    else if (n > 10) {
        const int twice = n * 2;
        return twice;
    }
    int more = n;
    more += 3;
    return more;
}
"""
SIZES = st.one_of(st.integers(0, 40), st.sampled_from([1, 127, 128, 4096, 70000, (1 << 31) - 1, 1 << 31, 1 << 33]))
INTS = st.one_of(st.integers(-40, 300), st.sampled_from([0, 1, -1, (1 << 31) - 1, -(1 << 31), 65536]))
LONGS = st.one_of(st.integers(-40, 300), st.sampled_from([0, 1 << 31, 1 << 40, -(1 << 40), (1 << 63) - 1, -(1 << 63)]))
SHAPES = st.tuples(SIZES, SIZES, SIZES).filter(lambda s: math.prod(s) < 1 << 63)
INPUTS = st.builds(
    Inputs,
    x=SHAPES,
    y=st.none() | SHAPES,
    n=INTS,
    m=LONGS,
    u=st.one_of(st.integers(0, 300), st.sampled_from([(1 << 31), (1 << 32) - 1])),
    s=st.one_of(st.integers(0, 300), st.sampled_from([1 << 32, (1 << 63) - 1, (1 << 64) - 1])),
    f=st.booleans(),
    d=st.sampled_from([0.0, 0.5, -1.25, 3.0, 1e9, 123456789.75]),
    k=st.none() | INTS,
)
ATOMS = st.sampled_from(
    [
        *[
            "n",
            "m",
            "u",
            "s",
            "f",
            "d",
            "n",
            "m",
            "n",
            "m",
            "x.size(0)",
            "x.size(1)",
            "x.size(-1)",
            "x.size(2)",
            "x.numel()",
            "x.dim()",
            "x.sizes()[1]",
        ],
        *[
            "0",
            "1",
            "2",
            "7",
            "8",
            "64",
            "127",
            "128",
            "1u",
            "255ull",
            "0x10",
            "0xFFFFFFFF",
            "3000000000",
            "2147483647",
            "'a'",
            "true",
            "false",
            "1.5",
            "2.0",
        ],
        *[
            "kBlock",
            "kWide",
            "kFirst",
            "kSecond",
            "kThird",
            "WIDTH",
            "k.value_or(5)",
            "sizeof(int)",
            "sizeof(double)",
            "sizeof(n)",
        ],
        *["y.has_value()", "y.value().size(0)", "x.element_size()", "std::numeric_limits<int>::max()"],
        "(y.has_value() ? y.value().size(1) : m)",
        "(k ? *k : n)",
    ]
)
TYPES = st.sampled_from(["int", "int64_t", "unsigned", "size_t", "bool", "int16_t", "uint8_t", "long long", "double"])
INT_TYPES = st.sampled_from(["int", "int64_t", "unsigned int", "size_t"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        [
            "+",
            "-",
            "*",
            "/",
            "%",
            "+",
            "-",
            "*",
            "/",
            "<<",
            ">>",
            "&",
            "|",
            "^",
            "<",
            "<=",
            ">",
            ">=",
            "==",
            "!=",
            "&&",
            "||",
        ]
    )
    return st.one_of(
        st.builds("{} {} {}".format, inner, operators, inner),
        st.builds("({} {} {})".format, inner, operators, inner),
        st.builds("({})".format, inner),
        st.builds("-({})".format, inner),
        st.builds("~{}".format, inner.map(lambda e: f"({e})")),
        st.builds("!({})".format, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("static_cast<{}>({})".format, TYPES, inner),
        st.builds("({})({})".format, TYPES, inner),
        st.builds("{}({})".format, st.sampled_from(["int", "float", "int64_t", "double"]), inner),
        st.builds("std::{}<{}>({}, {})".format, st.sampled_from(["max", "min"]), INT_TYPES, inner, inner),
        st.builds("std::{}({{(int)({}), 3, n}})".format, st.sampled_from(["max", "min"]), inner),
        st.builds("({} + {} - 1) / {}".format, inner, st.just("128"), st.just("128")),
        st.builds("ceil_div({}, {})".format, inner, inner),
        st.builds("CEIL({}, {})".format, inner, inner),
        st.builds("round_up<int>({}, 16)".format, inner),
        st.builds("round_up((int64_t)({}), (int64_t){})".format, inner, st.sampled_from(["8", "kWide"])),
        st.builds("pick({})".format, inner),
        st.builds("std::abs((int)({}))".format, inner),
        st.builds("(int64_t)std::ceil((double)({}) / 32)".format, inner),
    )


EXPRESSIONS = st.recursive(ATOMS, _grown, max_leaves=5)


def _check(bodies: Sequence[str], inputs: Sequence[Inputs], folder: Path) -> tuple[int, int]:
    """Compare all that can be translated; how many bodies that were, and how many values."""
    samples: list[tuple[Translated, list[Inputs]]] = []
    wanted: list[list[float]] = []
    for body in bodies:
        found = translate(body, DEFINITIONS)
        if isinstance(found, str):
            continue
        values = [(one, expected(found, one)) for one in inputs]
        known = [(one, value) for one, value in values if value is not None]
        if known:
            samples.append((found, [one for one, _ in known]))
            wanted.append([value for _, value in known])
    if not samples:
        return 0, 0
    shown = compile_and_run(samples, folder, DEFINITIONS)
    for (sample, tried), printed, values in zip(samples, shown, wanted, strict=True):
        for one, text, value in zip(tried, printed, values, strict=True):
            python = sample.scalar.text.text
            assert same(text, value), f"{sample.body}\nC++ {text}, Python {value}: {python}\nfor {one}"
            scalar = sample.scalar
            if scalar.type.kind == "int":
                assert scalar.low <= value <= scalar.high, f"{sample.body}\n{value} not in {scalar.low}..{scalar.high}"
    return len(samples), sum(map(len, wanted))


# A failure names the expression: shrinking would compile hundreds of programs. CI asks the same each time: what new
# seeds find is for whoever runs the tests by hand.
SETTINGS = settings(
    derandomize=bool(os.environ.get("TORCHLESS_CI")),
    max_examples=4,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@SETTINGS
@given(
    expressions=st.lists(EXPRESSIONS, min_size=60, max_size=90, unique=True),
    inputs=st.lists(INPUTS, min_size=12, max_size=16),
)
def test_expressions(expressions: list[str], inputs: list[Inputs], tmp_path_factory: pytest.TempPathFactory) -> None:
    _check([f"return {e};" for e in expressions], inputs, tmp_path_factory.mktemp("expressions"))


CONDITIONS = st.sampled_from(["f", "n > 3", "y.has_value()", "x.size(0) == 1", "k", "d > 0.0 && !f", "m < n || f"])
VALUES = st.sampled_from(
    ["1", "n", "m", "x.size(0)", "x.size(1) * 2", "a + 3", "b", "a", "kBlock", "ceil_div(a, 8)", "u"]
)
STEPS = st.sampled_from(["=", "=", "=", "+=", "-=", "*=", "<<=", ">>=", "&=", "|="])


def _body(depth: int) -> st.SearchStrategy[str]:
    simple = st.one_of(
        st.builds("{} {} {};".format, st.sampled_from("ab"), STEPS, VALUES),
        # a division by zero ends the C++ even where its result is not used
        st.builds("{} {} {};".format, st.sampled_from("ab"), st.sampled_from(["/=", "%="]), st.sampled_from("37")),
        st.sampled_from(
            ["a++;", "--b;", "++a;", "{ const int c = a; b = c; }", "{ int a = 5; b = a; }", "{ auto e = b; a = e; }"]
        ),
        st.sampled_from(["for (int i = 0; i < 2; i++) { m + i; }", "TORCH_CHECK(n > -9, 1);", "{ int g{n}; a = g; }"]),
    )
    if not depth:
        return st.lists(simple, max_size=3).map(" ".join)
    inner = _body(depth - 1)
    chosen = st.one_of(
        simple,
        simple,
        st.builds("if ({}) {{ {} }}".format, CONDITIONS, inner),
        st.builds("if ({}) {{ {} }} else {{ {} }}".format, CONDITIONS, inner, inner),
        st.builds("if ({}) {{ {} }} else if ({}) {{ {} }}".format, CONDITIONS, inner, CONDITIONS, inner),
        st.builds("if ({}) {}".format, CONDITIONS, simple),
        st.builds("if ({}) {{ {} TORCH_CHECK(false, 1); }}".format, CONDITIONS, inner),
    )
    return st.lists(chosen, min_size=1, max_size=4).map(" ".join)


BODIES = st.builds(
    "{} a = {}; {} b{{}}; {} return {};".format,
    st.sampled_from(["int", "int64_t", "unsigned", "auto"]),
    st.sampled_from(["n", "x.size(2)", "7", "int(m)"]),
    st.sampled_from(["int", "int64_t", "size_t"]),
    _body(2),
    st.sampled_from(["a", "b", "a + b", "f ? a : b"]),
)


@SETTINGS
@given(
    bodies=st.lists(BODIES, min_size=60, max_size=90, unique=True),
    inputs=st.lists(INPUTS, min_size=12, max_size=16),
)
def test_bodies(bodies: list[str], inputs: list[Inputs], tmp_path_factory: pytest.TempPathFactory) -> None:
    _check(bodies, inputs, tmp_path_factory.mktemp("bodies"))

"""What is not said in Python, and why."""

import pytest
from hoisting_samples import allocation, condition, said

PARAMS = (
    "torch::Tensor& x, std::optional<torch::Tensor> y, int n, int64_t m, unsigned u, size_t s, bool f, float p,"
    " std::string name, std::vector<torch::Tensor> all"
)
# expression, statements before it, a part of the reason
EXPRESSIONS = [
    ("n", "n = other(n);", "whose body is not at hand"),
    ("n", "n = other(n) + n++;", "changed twice"),
    ("n", "other(n);", "may be changed by `other`"),
    ("n", "query(&n);", "has its address taken"),
    ("n", "int& r = n; r = 3;", "bound to a reference"),
    ("r", "int& r = n; r = 3;", "reference through which"),
    ("r", "const int& r = n; n = 3;", "a reference to `n`, which changes"),
    ("kTile", "", "no local, no parameter and no constant"),
    ("n", "auto change = [&] { n = 4; }; change();", "in a lambda"),
    ("n", "for (int i = 0; i < 3; i++) { n *= 2; }", "is changed in a for"),
    ("n", "while (n > 3) n /= 2;", "is changed in a while"),
    ("n", "switch (n) { case 1: n = 2; }", "is changed in a switch"),
    ("n", "if ((n = m)) { }", "is changed in a condition"),
    ("n", "std::tie(n, m) = both();", "may be changed by `tie`"),
    ("n", "stream >> n;", "may be changed"),
    ("n", "again: n++; if (n < 5) goto again;", "changed in a function with a goto"),
    ("n", "n = n++ + 1;", "changed twice"),
    ("r", "int r; if (f) r = 1;", "no value yet"),
    ("r", "static int r = m; ", "keeps its value"),
    ("r", "int r[4];", "is an array"),
    ("r", "int* r = pointer;", "is a pointer"),
    ("i", "for (int i = 0; i < n; i++) { i; }", "no local"),
    ("r", "#ifdef WIDE\nint r = 2;\n#else\nint r = 1;\n#endif\n", "depends on an #if"),
    ("n", "\n#ifdef WIDE\nn = 2;\n#endif\n", "under an #if"),
    ("n - s", "", "would wrap around"),
    ("u - 1", "", "wrap around below zero"),
    ("s * n", "", "would wrap around"),
    ("p * 2.0f", "", "single precision"),
    ("n / 0", "", "divides by zero"),
    ("1 << 40", "", "a shift by 40"),
    ("255ull << x.element_size() + 127", "", "has no meaning"),
    ("x.item<int>()", "", "needs the tensor's contents"),
    ("x[0]", "", "needs its contents"),
    ("x.sizes()[-1]", "", "negative index"),
    ("sizeof(x.dtype())", "", "size of the C++ object"),
    ("get_num_cu()", "", "depends on the device (`get_num_cu`)"),
    ("props.multiProcessorCount", "hipDeviceProp_t props;", "hipDeviceProp_t"),
    ("kMissing", "", "no local, no parameter and no constant"),
    ("all.size()", "", "which Python does not read"),
    ("T::kSize", "", "no constant"),
    ("Mode::kFast == 1", "", "`Mode::kFast`: an enumerator"),
    ("kByFlag", "", "can be set from outside"),
    ("kTwice", "", "not the same everywhere"),
    ("looped(n)", "", "more than choices and returns"),
    ("on_device(n)", "", "runs on the device"),
    ("asks(n)", "", "depends on the device (`hipGetDevice`)"),
    ("LOOSE(n, 2)", "", "does not keep its arguments together"),
    ("itself(n)", "", "too many functions"),
    ("name < name", "", "order of texts"),
    ("std::max(n, m)", "", "of different types"),
    ("callback(n)", "auto callback = [](int k) { return k; };", "a lambda or an object"),
]  # fmt: skip
DEFINITIONS = """
enum class Mode { kSlow, kFast };
#ifndef kByFlag
#define kByFlag 3
#endif
#ifdef A
constexpr int kTwice = 1;
#else
constexpr int kTwice = 2;
#endif
int looped(int n) { while (n > 5) { if (n == 8) return 2; n--; } return n; }
__device__ int on_device(int n) { return n; }
int asks(int n) { int device; hipGetDevice(&device); return device; }
#define LOOSE(a, b) (a * b)
struct Traits { static constexpr int kTile = 8; };
int itself(int n) { return itself(n - 1); }
"""


@pytest.mark.parametrize(("expression", "body", "reason"), EXPRESSIONS, ids=[f"{b} {e}" for e, b, _ in EXPRESSIONS])
def test_expression(expression: str, body: str, reason: str) -> None:
    found = said(expression, body, params=PARAMS, before=DEFINITIONS)
    assert found.startswith("refused: ") and reason in found


ALLOCATIONS = [
    ("auto o = torch::rand({n}, x.options());", "rand makes a tensor out of more than a shape"),
    ("auto o = torch::from_blob(p, {n});", "from_blob makes"),
    ("auto make = [](int k) { return torch::empty({k}); };", "`k` is a parameter of a lambda"),
    ("auto o = torch::empty({n}, x.options().requires_grad(true));", "requires_grad"),
    ("auto o = torch::empty({n}, torch::dtype(torch::kFloat).device(torch::kCUDA)); Guard g(where());", '"cuda"'),
    ("const at::hip::HIPGuard g(where()); auto o = torch::empty({n}, torch::kCUDA);", "device that a guard sets"),
    (
        "auto o = torch::empty({4}, torch::TensorOptions().device(torch::kCUDA, n));",
        "the device index `n` may be negative",
    ),
    ("auto o = torch::empty({n * 1.5}, x.options());", "no integer"),
    ("auto o = torch::empty_like(x.view({-1, n}));", "like is not one that Python has"),
    ("x.resize_({n}); auto o = torch::empty_like(x);", "is changed by `resize_`"),
    ("at::sum_out(x, y); auto o = torch::empty_like(x);", "may be changed by `sum_out`"),
]


@pytest.mark.parametrize(("body", "reason"), ALLOCATIONS, ids=[body for body, _ in ALLOCATIONS])
def test_allocation(body: str, reason: str) -> None:
    assert reason in allocation(body)


def test_device_of_a_guard() -> None:
    body = "const at::hip::OptionalHIPGuard g(device_of(y)); auto o = torch::empty({n}, torch::kCUDA);"
    assert allocation(body) == "torch.empty((n,), device=y.device)"


def test_device_of_an_index() -> None:
    body = "auto o = torch::empty({n}, torch::TensorOptions().device(torch::kCUDA, 1));"
    assert allocation(body) == 'torch.empty((n,), device=torch.device("cuda", 1))'


def test_names_that_hide_builtins() -> None:
    body = "auto o = torch::empty({std::max(max, 3)}, x.options());"
    assert allocation(body, params="torch::Tensor& x, int max") == "refused: the parameter `max` hides Python's `max`"


def test_names_that_are_keywords() -> None:
    body = "auto o = torch::empty({lambda}, x.options());"
    assert allocation(body, params="torch::Tensor& x, int lambda") == "refused: `lambda` is no name in Python"


def test_template_parameters() -> None:
    before = "void other() { using T = double; }\nstruct S { using T = float; };\ntemplate <typename T>"
    for size in ("sizeof(T)", "T(3)", "static_cast<T>(n)"):
        assert allocation(f"auto o = torch::empty({{(int64_t){size}}}, x.options());", before=before).startswith(
            "refused"
        )


CONDITIONS = [
    ("for (int i = 0; i < n; i++) { auto o = torch::empty_like(x); }", "it stands in a for"),
    ("auto run = [&] { auto o = torch::empty_like(x); };", "in a macro or a lambda"),
    ("DISPATCH(n, { auto o = torch::empty_like(x); });", "in a macro or a lambda"),
    ("bool b = f && use(torch::empty_like(x));", "it stands behind &&"),
    ("\n#ifdef WIDE\nauto o = torch::empty_like(x);\n#endif\n", "under an #if"),
    ("if (n > 2) { if (looked(n)) { auto o = torch::empty_like(x); } }", "whose body is not at hand"),
]


@pytest.mark.parametrize(("body", "reason"), CONDITIONS, ids=[body for body, _ in CONDITIONS])
def test_condition(body: str, reason: str) -> None:
    assert reason in condition(body, params="torch::Tensor& x, int n, bool f")

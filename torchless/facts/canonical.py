"""Canonical names and type classes, from the spellings that the compiler gives. Pure text in, text out."""

from __future__ import annotations

from functools import lru_cache

ROOTS = frozenset({"torch", "at", "c10"})
"""The framework's namespaces; canonical names write all three as ``at``."""

_DROPPED = frozenset({"detail", "impl", "internal", "headeronly", "indexing_detail", ""})
_FOLDED = {"TensorBase": "Tensor"}  # the base class that holds half of Tensor's members

_CLASSES = {
    "at::Tensor": "tensor",
    "at::OptionalTensorRef": "optional_tensor",
    "at::ScalarType": "dtype",
    "caffe2::TypeMeta": "typemeta",
    "at::TensorOptions": "options",
    "at::Device": "device",
    "at::DeviceType": "device_type",
    "at::Stream": "stream",
    "at::Generator": "generator",
    "at::Half": "half",
    "at::BFloat16": "bfloat16",
    "at::Scalar": "scalar",
    "aiter_tensor_t": "target_tensor",
    "AiterTensor": "target_tensor",  # the target's owning tensor, derived from the one above
}
_STREAMS = ("HIPStream", "CUDAStream", "HIPStreamMasqueradingAsCUDA")
_OPTIONALS = {"tensor": "optional_tensor", "dtype": "optional_dtype", "generator": "generator"}
_LISTS = frozenset(
    {"std::vector", "std::initializer_list", "std::array", "std::span", "at::ArrayRef", "at::List",
     "at::HeaderOnlyArrayRef", "at::SmallVector"}
)  # fmt: skip
_INT_ARRAYS = frozenset({"at::ArrayRef", "at::HeaderOnlyArrayRef"})
_INTS = frozenset({"long", "long long", "int64_t", "at::SymInt"})


def canonical_name(qualified: str) -> str:
    """``torch::Tensor``, ``c10::Half``, ``at::detail::x`` -> ``at::Tensor``, ``at::Half``, ``at::x``.

    Names outside the framework's namespaces come back as they are, without empty (anonymous) components.
    """
    parts = qualified.removeprefix("::").split("::")
    if parts[0] not in ROOTS:
        return "::".join(p for p in parts if p)
    inner = [_FOLDED.get(p, p) for p in parts[1:] if p not in _DROPPED]
    return "::".join(["at", *inner])


@lru_cache(maxsize=4096)
def type_class(spelling: str) -> str:
    """The class (see model.TYPE_CLASSES) of a canonical type as clang spells it; "" for any other type.

    References and const are stripped; a pointer has a class only when it points to a tensor.
    """
    plain = _unqualified(spelling)
    if plain.endswith("*"):
        return "tensor_pointer" if type_class(plain[:-1].rstrip()) == "tensor" else ""
    head, arguments = _split_template(plain)
    name = canonical_name(head)
    if not arguments:
        if name.startswith("at::") and name.rpartition("::")[2] in _STREAMS:
            return "stream"
        return _CLASSES.get(name, "")
    first = arguments[0]
    if name in ("std::optional", "at::optional"):
        return _OPTIONALS.get(type_class(first), "")
    if name in _INT_ARRAYS and (_unqualified(first) in _INTS or canonical_name(_unqualified(first)) in _INTS):
        return "int_array"
    if name in _LISTS and type_class(first) in ("tensor", "optional_tensor"):
        return "tensor_list"
    return ""


def _unqualified(spelling: str) -> str:
    """Without references, and without const and volatile at either end."""
    plain = spelling.strip()
    while True:
        before = plain
        plain = plain.rstrip("& ")
        for word in ("const", "volatile"):
            plain = plain.removeprefix(word + " ")
            if plain.endswith((" " + word, "*" + word)):
                plain = plain[: -len(word)].rstrip()
        if plain == before:
            return plain


def _split_template(plain: str) -> tuple[str, list[str]]:
    """``a::b<c, d<e>>`` -> (``a::b``, [``c``, ``d<e>``]). A name that goes on after the > has no arguments here."""
    opener = plain.find("<")
    if opener < 0 or not plain.endswith(">"):
        return plain, []
    arguments: list[str] = []
    depth, start = 0, opener + 1
    for i in range(opener, len(plain)):
        c = plain[i]
        if c in "<([":
            depth += 1
        elif c in ">)]":
            depth -= 1
            if depth == 0:
                if i != len(plain) - 1:
                    return plain, []
                arguments.append(plain[start:i].strip())
        elif c == "," and depth == 1:
            arguments.append(plain[start:i].strip())
            start = i + 1
    return plain[:opener], arguments

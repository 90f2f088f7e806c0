"""The target's dtypes, by torch's names of them and by the C++ types that a typed data pointer checked for.

Sources: the enumerators of at::ScalarType; the target's AiterDtype; the element types that torch's accessors accept.
"""

from __future__ import annotations

# The target's dtype for each of torch's enumerators; those that are missing have none.
OF_SCALAR_TYPE = {
    "Half": "fp16",
    "BFloat16": "bf16",
    "Float": "fp32",
    "Int": "i32",
    "Long": "i64",
    "Short": "i16",
    "Char": "i8",
    "Byte": "u8",
    "UInt32": "u32",
    "UInt64": "u64",
    "Float8_e4m3fn": "fp8",
    "Float8_e4m3fnuz": "fp8",
    "Float8_e8m0fnu": "fp8_e8m0",
    "Float4_e2m1fn_x2": "fp4x2",
}
_CONSTANTS = {
    "kFloat16": "fp16",
    "kFloat32": "fp32",
    "kInt32": "i32",
    "kInt64": "i64",
    "kInt16": "i16",
    "kInt8": "i8",
    "kUInt8": "u8",
    **{f"k{name}": dtype for name, dtype in OF_SCALAR_TYPE.items()},
}
# Element types of data_ptr<T>(), canonical names of torch's own. bool and double have no counterpart.
OF_CPP_TYPE = {
    "int64_t": "i64",
    "long": "i64",
    "long long": "i64",
    "int": "i32",
    "int32_t": "i32",
    "int16_t": "i16",
    "short": "i16",
    "int8_t": "i8",
    "signed char": "i8",
    "uint8_t": "u8",
    "unsigned char": "u8",
    "uint32_t": "u32",
    "unsigned int": "u32",
    "unsigned": "u32",
    "uint64_t": "u64",
    "unsigned long": "u64",
    "unsigned long long": "u64",
    "float": "fp32",
    "at::Half": "fp16",
    "at::BFloat16": "bf16",
    "at::Float8_e4m3fn": "fp8",
    "at::Float8_e4m3fnuz": "fp8",
    "at::Float8_e8m0fnu": "fp8_e8m0",
}
WITHOUT_COUNTERPART = frozenset({"bool", "double"})


def of_constant(canonical: str) -> str:
    """The target's dtype for ``at::kFloat32`` or ``at::ScalarType::Float``; "" when it has none."""
    if canonical.startswith("at::ScalarType::"):
        return OF_SCALAR_TYPE.get(canonical.removeprefix("at::ScalarType::"), "")
    return _CONSTANTS.get(canonical.removeprefix("at::"), "")


def enumerator(dtype: str) -> str:
    """``fp32`` -> ``AITER_DTYPE_fp32``."""
    return f"AITER_DTYPE_{dtype}"

"""What torch's C++ names are in Python: dtypes, device types, memory formats.

Sources: c10/core/ScalarType.h, c10/core/DeviceType.h, torch/csrc/utils/tensor_dtypes.cpp.
"""

from __future__ import annotations

_OF_SCALAR_TYPE = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "BFloat16": "bfloat16",
    "UInt16": "uint16",
    "UInt32": "uint32",
    "UInt64": "uint64",
    "Float8_e5m2": "float8_e5m2",
    "Float8_e4m3fn": "float8_e4m3fn",
    "Float8_e5m2fnuz": "float8_e5m2fnuz",
    "Float8_e4m3fnuz": "float8_e4m3fnuz",
    "Float8_e8m0fnu": "float8_e8m0fnu",
    "Float4_e2m1fn_x2": "float4_e2m1fn_x2",
}
_CONSTANTS = {
    "kUInt8": "uint8",
    "kInt8": "int8",
    "kInt16": "int16",
    "kInt32": "int32",
    "kInt64": "int64",
    "kFloat16": "float16",
    "kFloat32": "float32",
    "kFloat64": "float64",
    **{f"k{name}": dtype for name, dtype in _OF_SCALAR_TYPE.items()},
}
# Bytes of one element, by Python's name of the dtype.
ITEM_SIZE = {
    **dict.fromkeys(("uint8", "int8", "bool", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("float8_e4m3fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "complex32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
}
_DEVICES = {"kCPU": "cpu", "kCUDA": "cuda", "kHIP": "cuda", "kMeta": "meta"}
_DEVICES.update({f"DeviceType::{name[1:]}": device for name, device in list(_DEVICES.items())})
_FORMATS = {
    "Contiguous": "contiguous_format",
    "Preserve": "preserve_format",
    "ChannelsLast": "channels_last",
    "ChannelsLast3d": "channels_last_3d",
}
# Bytes of types of torch and HIP, by canonical name.
# Sources: c10/util, hip_fp16.h, hip_vector_types.h, hip_runtime_api.h.
CPP_SIZES = {
    "at::Half": 2,
    "at::BFloat16": 2,
    "at::Float8_e4m3fn": 1,
    "at::Float8_e4m3fnuz": 1,
    "at::Float8_e5m2": 1,
    "__half": 2,
    "half": 2,
    "_Float16": 2,
    "hip_bfloat16": 2,
    "__hip_bfloat16": 2,
    "__half2": 4,
    "float2": 8,
    "float4": 16,
    "int2": 8,
    "int4": 16,
    "hipIpcMemHandle_t": 64,
}


def dtype_of(canonical: str) -> str:
    """``at::kFloat32``, ``at::ScalarType::Float``, ``at::kFloat`` -> ``float32``; "" for anything else."""
    name = canonical.removeprefix("at::")
    if name.startswith("ScalarType::"):
        return _OF_SCALAR_TYPE.get(name.removeprefix("ScalarType::"), "")
    return _CONSTANTS.get(name, "")


def device_of(canonical: str) -> str:
    """``at::kCUDA``, ``at::DeviceType::HIP`` -> ``cuda``; "" for anything else. HIP devices are cuda in Python."""
    return _DEVICES.get(canonical.removeprefix("at::"), "")


def memory_format_of(canonical: str) -> str:
    """``at::MemoryFormat::ChannelsLast`` -> ``channels_last``; "" for anything else."""
    name = canonical.removeprefix("at::")
    return _FORMATS.get(name.removeprefix("MemoryFormat::"), "") if name.startswith("MemoryFormat::") else ""

// The element types that a tensor of ours can have.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

typedef enum
{
    AITER_DTYPE_fp8,
    AITER_DTYPE_fp8_e8m0,
    AITER_DTYPE_fp16,
    AITER_DTYPE_bf16,
    AITER_DTYPE_fp32,
    AITER_DTYPE_i4x2,
    AITER_DTYPE_fp4x2,
    AITER_DTYPE_u32,
    AITER_DTYPE_i32,
    AITER_DTYPE_i16,
    AITER_DTYPE_i8,
    AITER_DTYPE_u8,
    AITER_DTYPE_i64,
    AITER_DTYPE_u64,
} AiterDtype;

static inline size_t AiterDtype_element_size(AiterDtype dtype)
{
    constexpr size_t bytes[] = {1, 1, 2, 2, 4, 1, 1, 4, 4, 2, 1, 1, 8, 8};
    return bytes[dtype];
}

static inline std::string AiterDtype_to_str(int dtype)
{
    constexpr const char* names[] = {"fp8", "fp8_e8m0", "fp16", "bf16", "fp32", "i4x2", "fp4x2",
                                     "u32", "i32",      "i16",  "i8",   "u8",   "i64",  "u64"};
    return names[dtype];
}

// From a dtype known at run time to a C++ type: the torch-free twins of dispatch_utils.h.
#pragma once
#include "aiter_hip_common.h"
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>

namespace aiter::dispatch_detail {

template <AiterDtype>
struct element_type;
template <>
struct element_type<AITER_DTYPE_fp16>
{
    using type = __half;
};
template <>
struct element_type<AITER_DTYPE_bf16>
{
    using type = hip_bfloat16;
};
template <>
struct element_type<AITER_DTYPE_fp32>
{
    using type = float;
};

} // namespace aiter::dispatch_detail

#define AT_DISPATCH_SWITCH_rmTorch(DTYPE, NAME, ...)                                                      \
    [&] {                                                                                                 \
        const AiterDtype dispatched = (DTYPE);                                                            \
        switch(dispatched)                                                                                \
        {                                                                                                 \
            __VA_ARGS__                                                                                   \
        default: AITER_CHECK(false, (NAME), " is not implemented for ", AiterDtype_to_str(dispatched));   \
        }                                                                                                 \
    }()

#define AT_DISPATCH_CASE_rmTorch(ENUM, ...)                                                               \
    case ENUM: {                                                                                          \
        using scalar_t [[maybe_unused]] = aiter::dispatch_detail::element_type<ENUM>::type;               \
        return __VA_ARGS__();                                                                             \
    }

#define VLLM_DISPATCH_CASE_FLOATING_TYPES_rmTorch(...)                                                    \
    AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_fp32, __VA_ARGS__)                                               \
    AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_fp16, __VA_ARGS__)                                               \
    AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_bf16, __VA_ARGS__)

#define VLLM_DISPATCH_FLOATING_TYPES_rmTorch(DTYPE, NAME, ...)                                            \
    AT_DISPATCH_SWITCH_rmTorch(DTYPE, NAME, VLLM_DISPATCH_CASE_FLOATING_TYPES_rmTorch(__VA_ARGS__))

#define AITER_DISPATCH_CASE_FLOATING16_TYPES_rmTorch(...)                                                 \
    AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_fp16, __VA_ARGS__)                                               \
    AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_bf16, __VA_ARGS__)

#define AITER_DISPATCH_FLOATING16_TYPES_rmTorch(DTYPE, NAME, ...)                                         \
    AT_DISPATCH_SWITCH_rmTorch(DTYPE, NAME, AITER_DISPATCH_CASE_FLOATING16_TYPES_rmTorch(__VA_ARGS__))

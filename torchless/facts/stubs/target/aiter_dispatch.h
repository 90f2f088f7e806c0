#pragma once
#include <cstdint>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <aiter_tensor.h>

namespace aiter::dispatch_detail {
template <AiterDtype DTYPE> struct cpp_type_from_aiter_dtype;
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_fp8> { using type = uint8_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_fp8_e8m0> { using type = uint8_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_fp16> { using type = __half; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_bf16> { using type = hip_bfloat16; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_fp32> { using type = float; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_i4x2> { using type = uint8_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_fp4x2> { using type = uint8_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_u32> { using type = uint32_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_i32> { using type = int32_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_i16> { using type = int16_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_i8> { using type = int8_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_u8> { using type = uint8_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_i64> { using type = int64_t; };
template <> struct cpp_type_from_aiter_dtype<AITER_DTYPE_u64> { using type = uint64_t; };
template <AiterDtype DTYPE> using cpp_type_from_aiter_dtype_t = typename cpp_type_from_aiter_dtype<DTYPE>::type;
}  // namespace aiter::dispatch_detail

#define AT_PRIVATE_CASE_TYPE_USING_HINT_rmTorch(enum_type, HINT, ...) case enum_type: { using HINT [[maybe_unused]] = ::aiter::dispatch_detail::cpp_type_from_aiter_dtype_t<enum_type>; return __VA_ARGS__(); }
#define AT_DISPATCH_CASE_rmTorch(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT_rmTorch(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH_rmTorch(TYPE, NAME, ...) [&] { switch (static_cast<AiterDtype>(TYPE)) { __VA_ARGS__ default: AITER_CHECK(false, NAME, AiterDtype_to_str(TYPE)); } }()
#define AITER_DISPATCH_CASE_FLOATING16_TYPES_rmTorch(...) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_fp16, __VA_ARGS__) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_bf16, __VA_ARGS__)
#define AITER_DISPATCH_FLOATING16_TYPES_rmTorch(TYPE, NAME, ...) AT_DISPATCH_SWITCH_rmTorch(TYPE, NAME, AITER_DISPATCH_CASE_FLOATING16_TYPES_rmTorch(__VA_ARGS__))
#define VLLM_DISPATCH_CASE_FLOATING_TYPES_rmTorch(...) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_fp32, __VA_ARGS__) AITER_DISPATCH_CASE_FLOATING16_TYPES_rmTorch(__VA_ARGS__)
#define VLLM_DISPATCH_FLOATING_TYPES_rmTorch(TYPE, NAME, ...) AT_DISPATCH_SWITCH_rmTorch(TYPE, NAME, VLLM_DISPATCH_CASE_FLOATING_TYPES_rmTorch(__VA_ARGS__))
#define VLLM_DISPATCH_CASE_FLOATING_AND_BYTE_TYPES_rmTorch(...) VLLM_DISPATCH_CASE_FLOATING_TYPES_rmTorch(__VA_ARGS__) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_u8, __VA_ARGS__)
#define VLLM_DISPATCH_FLOATING_AND_BYTE_TYPES_rmTorch(TYPE, NAME, ...) AT_DISPATCH_SWITCH_rmTorch(TYPE, NAME, VLLM_DISPATCH_CASE_FLOATING_AND_BYTE_TYPES_rmTorch(__VA_ARGS__))
#define VLLM_DISPATCH_CASE_INTEGRAL_TYPES_rmTorch(...) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_u8, __VA_ARGS__) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_i8, __VA_ARGS__) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_i16, __VA_ARGS__) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_i32, __VA_ARGS__) AT_DISPATCH_CASE_rmTorch(AITER_DTYPE_i64, __VA_ARGS__)
#define VLLM_DISPATCH_INTEGRAL_TYPES_rmTorch(TYPE, NAME, ...) AT_DISPATCH_SWITCH_rmTorch(TYPE, NAME, VLLM_DISPATCH_CASE_INTEGRAL_TYPES_rmTorch(__VA_ARGS__))
#define AITER_CASE_VEC_SIZE_rmTorch(VC, ...) case VC: { constexpr int32_t VEC_SIZE = VC; __VA_ARGS__ break; }
#define AITER_DISPATCH_CASE_VEC_SIZE_rmTorch(vec_size, ...) switch (vec_size) { AITER_CASE_VEC_SIZE_rmTorch(32, __VA_ARGS__) AITER_CASE_VEC_SIZE_rmTorch(16, __VA_ARGS__) AITER_CASE_VEC_SIZE_rmTorch(8, __VA_ARGS__) AITER_CASE_VEC_SIZE_rmTorch(4, __VA_ARGS__) AITER_CASE_VEC_SIZE_rmTorch(2, __VA_ARGS__) AITER_CASE_VEC_SIZE_rmTorch(1, __VA_ARGS__) default: AITER_CHECK(false, vec_size); }

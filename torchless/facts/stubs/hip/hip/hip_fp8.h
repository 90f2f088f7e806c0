#pragma once
#include <climits>
#include <hip/hip_common.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;
enum __hip_fp8_interpretation_t { __HIP_E4M3, __HIP_E5M2, __HIP_E4M3_FNUZ, __HIP_E5M2_FNUZ };
enum __hip_saturation_t { __HIP_NOSAT, __HIP_SATFINITE };
__host__ __device__ inline __hip_fp8_storage_t __hip_cvt_float_to_fp8(float v, __hip_saturation_t, __hip_fp8_interpretation_t) { return (__hip_fp8_storage_t)__builtin_bit_cast(unsigned, v); }
__host__ __device__ inline __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 v, __hip_saturation_t, __hip_fp8_interpretation_t) { return (__hip_fp8x2_storage_t)__builtin_bit_cast(unsigned, v.x); }
__host__ __device__ inline __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw v, __hip_saturation_t, __hip_fp8_interpretation_t) { return (__hip_fp8_storage_t)v.x; }
__host__ __device__ inline __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t v, __hip_fp8_interpretation_t) { return __half_raw{v}; }
__host__ __device__ inline __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t v, __hip_fp8_interpretation_t) { return __half2_raw{v, v}; }

// One, two and four values of each of the four 8-bit formats.
#define __TORCHLESS_FP8(suffix, format) \
  struct __hip_fp8_##suffix { \
    __hip_fp8_storage_t __x; \
    __hip_fp8_##suffix() = default; \
    __host__ __device__ explicit __hip_fp8_##suffix(float v) : __x(__hip_cvt_float_to_fp8(v, __HIP_SATFINITE, format)) {} \
    __host__ __device__ explicit __hip_fp8_##suffix(double v) : __hip_fp8_##suffix((float)v) {} \
    __host__ __device__ explicit __hip_fp8_##suffix(int v) : __hip_fp8_##suffix((float)v) {} \
    __host__ __device__ explicit __hip_fp8_##suffix(__half v) : __hip_fp8_##suffix(__half2float(v)) {} \
    __host__ __device__ explicit __hip_fp8_##suffix(__hip_bfloat16 v) : __hip_fp8_##suffix((float)v) {} \
    __host__ __device__ operator float() const { return (float)__hip_cvt_fp8_to_halfraw(__x, format).data; } \
    __host__ __device__ explicit operator __half() const { return __hip_cvt_fp8_to_halfraw(__x, format); } \
    __host__ __device__ explicit operator __hip_bfloat16() const { return (float)*this; } \
  }; \
  struct __hip_fp8x2_##suffix { \
    __hip_fp8x2_storage_t __x; \
    __hip_fp8x2_##suffix() = default; \
    __host__ __device__ explicit __hip_fp8x2_##suffix(float2 v) : __x(__hip_cvt_float2_to_fp8x2(v, __HIP_SATFINITE, format)) {} \
    __host__ __device__ operator float2() const { return __half22float2(__half2(__hip_cvt_fp8x2_to_halfraw2(__x, format))); } \
  }; \
  struct __hip_fp8x4_##suffix { \
    __hip_fp8x4_storage_t __x; \
    __hip_fp8x4_##suffix() = default; \
    __host__ __device__ explicit __hip_fp8x4_##suffix(float4 v) : __x(__builtin_bit_cast(unsigned, v.x)) {} \
    __host__ __device__ operator float4() const { return float4(__builtin_bit_cast(float, __x)); } \
  };
__TORCHLESS_FP8(e4m3, __HIP_E4M3)
__TORCHLESS_FP8(e5m2, __HIP_E5M2)
__TORCHLESS_FP8(e4m3_fnuz, __HIP_E4M3_FNUZ)
__TORCHLESS_FP8(e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef __TORCHLESS_FP8

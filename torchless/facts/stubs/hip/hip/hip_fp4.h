#pragma once
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

typedef unsigned char __hip_fp4_storage_t;
typedef unsigned char __hip_fp4x2_storage_t;
typedef unsigned short __hip_fp4x4_storage_t;
enum __hip_fp4_interpretation_t { __HIP_E2M1 = 0 };
struct __hip_fp4_e2m1 { __hip_fp4_storage_t __x; __hip_fp4_e2m1() = default; __host__ __device__ explicit __hip_fp4_e2m1(float v) : __x((__hip_fp4_storage_t)v) {} __host__ __device__ operator float() const { return (float)__x; } };
struct __hip_fp4x2_e2m1 { __hip_fp4x2_storage_t __x; __hip_fp4x2_e2m1() = default; __host__ __device__ explicit __hip_fp4x2_e2m1(float2 v) : __x((__hip_fp4x2_storage_t)v.x) {} __host__ __device__ operator float2() const { return float2((float)__x); } };

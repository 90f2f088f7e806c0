#pragma once
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

// Packed low-precision values as the OCP formats have them.
typedef unsigned char __amd_fp4x2_storage_t;
typedef unsigned int __amd_fp4x8_storage_t;
typedef unsigned char __amd_scale_t;
typedef _Float16 __amd_fp16_storage_t;
typedef __bf16 __amd_bf16_storage_t;
typedef float __amd_floatx2_storage_t __attribute__((ext_vector_type(2)));

#pragma once
#include <hip/amd_detail/host_defines.h>
// Compiler built-ins that the HIP compiler has and an older clang has not. Their names are free there, so plain
// declarations do. The guards are version numbers: __has_builtin also says no where only the target differs.
#if __clang_major__ < 19
typedef struct __torchless_buffer_rsrc* __amdgpu_buffer_rsrc_t;
typedef unsigned int __torchless_u32x2 __attribute__((vector_size(8)));
typedef unsigned int __torchless_u32x3 __attribute__((ext_vector_type(3)));
typedef unsigned int __torchless_u32x4 __attribute__((vector_size(16)));
__device__ __amdgpu_buffer_rsrc_t __builtin_amdgcn_make_buffer_rsrc(void* p, short stride, int num, int flags);
__device__ unsigned char __builtin_amdgcn_raw_buffer_load_b8(__amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ unsigned short __builtin_amdgcn_raw_buffer_load_b16(__amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ unsigned int __builtin_amdgcn_raw_buffer_load_b32(__amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ __torchless_u32x2 __builtin_amdgcn_raw_buffer_load_b64(__amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ __torchless_u32x3 __builtin_amdgcn_raw_buffer_load_b96(__amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ __torchless_u32x4 __builtin_amdgcn_raw_buffer_load_b128(__amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ void __builtin_amdgcn_raw_buffer_store_b8(unsigned char v, __amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ void __builtin_amdgcn_raw_buffer_store_b16(unsigned short v, __amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ void __builtin_amdgcn_raw_buffer_store_b32(unsigned int v, __amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ void __builtin_amdgcn_raw_buffer_store_b64(__torchless_u32x2 v, __amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ void __builtin_amdgcn_raw_buffer_store_b96(__torchless_u32x3 v, __amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
__device__ void __builtin_amdgcn_raw_buffer_store_b128(__torchless_u32x4 v, __amdgpu_buffer_rsrc_t rsrc, int offset, int soffset, int aux);
#endif
#if __clang_major__ < 20
__device__ void __builtin_amdgcn_raw_ptr_buffer_load_lds(__amdgpu_buffer_rsrc_t rsrc, __attribute__((address_space(3))) void* lds, unsigned int size, int voffset, int soffset, int offset, int aux);
#if !defined(__HIP_DEVICE_COMPILE__)
// Headers that name the address space in the device pass alone hand over a plain pointer in the host pass.
__device__ void __builtin_amdgcn_raw_ptr_buffer_load_lds(__amdgpu_buffer_rsrc_t rsrc, void* lds, unsigned int size, int voffset, int soffset, int offset, int aux);
#endif
#endif

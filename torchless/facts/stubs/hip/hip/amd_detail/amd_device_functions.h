#pragma once
#include <stddef.h>
#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>
#include <hip/amd_detail/amd_warp_functions.h>
#include <hip/amd_detail/amd_math_functions.h>

// Barriers and fences.
__device__ inline __attribute__((convergent)) void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); }
__device__ inline __attribute__((convergent)) void __syncwarp() { __builtin_amdgcn_wave_barrier(); }
__device__ __attribute__((convergent)) int __syncthreads_count(int predicate);
__device__ __attribute__((convergent)) int __syncthreads_and(int predicate);
__device__ __attribute__((convergent)) int __syncthreads_or(int predicate);
__device__ inline void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ inline void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ inline void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// Bits.
__device__ inline int __popc(unsigned int v) { return __builtin_popcount(v); }
__device__ inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
__device__ inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(v); }
__device__ inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll(v); }
__device__ inline int __ffs(unsigned int v) { return __builtin_ffs(v); }
__device__ inline int __ffs(int v) { return __builtin_ffs(v); }
__device__ inline int __ffsll(unsigned long long v) { return __builtin_ffsll(v); }
__device__ inline int __ffsll(long long v) { return __builtin_ffsll(v); }
__device__ inline unsigned int __brev(unsigned int v) { return __builtin_bitreverse32(v); }
__device__ inline unsigned long long __brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
__device__ inline unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int s) { return __builtin_amdgcn_perm(b, a, s); }
__device__ inline int __mul24(int a, int b) { return a * b; }
__device__ inline int __mulhi(int a, int b) { return int(((long long)a * b) >> 32); }
__device__ inline unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned int)(((unsigned long long)a * b) >> 32); }
__device__ inline unsigned int __umul24(unsigned int a, unsigned int b) { return a * b; }
__device__ inline unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) { return (unsigned int)((((unsigned long long)hi << 32) | lo) >> (shift & 31)); }

// The same bits as another type.
__device__ inline float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
__device__ inline int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
__device__ inline float __uint_as_float(unsigned int v) { return __builtin_bit_cast(float, v); }
__device__ inline unsigned int __float_as_uint(float v) { return __builtin_bit_cast(unsigned int, v); }
__device__ inline double __longlong_as_double(long long v) { return __builtin_bit_cast(double, v); }
__device__ inline long long __double_as_longlong(double v) { return __builtin_bit_cast(long long, v); }

// Conversions with a rounding mode.
__device__ inline int __float2int_rn(float v) { return (int)__builtin_rintf(v); }
__device__ inline int __float2int_rz(float v) { return (int)v; }
__device__ inline int __float2int_rd(float v) { return (int)__builtin_floorf(v); }
__device__ inline int __float2int_ru(float v) { return (int)__builtin_ceilf(v); }
__device__ inline unsigned int __float2uint_rn(float v) { return (unsigned int)__builtin_rintf(v); }
__device__ inline unsigned int __float2uint_rz(float v) { return (unsigned int)v; }
__device__ inline float __int2float_rn(int v) { return (float)v; }
__device__ inline float __uint2float_rn(unsigned int v) { return (float)v; }

// Clocks.
__device__ inline long long clock64() { return (long long)__builtin_readcyclecounter(); }
__device__ inline long long clock() { return (long long)__builtin_readcyclecounter(); }
__device__ inline long long wall_clock64() { return (long long)__builtin_readcyclecounter(); }

// Cached loads.
template <class T> __device__ inline T __ldg(const T* p) { return *p; }

// Device library.
extern "C" __device__ float __ocml_exp_f32(float);
extern "C" __device__ float __ocml_exp2_f32(float);
extern "C" __device__ float __ocml_log_f32(float);
extern "C" __device__ float __ocml_log2_f32(float);
extern "C" __device__ float __ocml_fma_f32(float, float, float);
extern "C" __device__ float __ocml_sqrt_f32(float);
extern "C" __device__ float __ocml_native_exp_f32(float);
extern "C" __device__ float __ocml_native_exp2_f32(float);
extern "C" __device__ float __ocml_native_recip_f32(float);
extern "C" __device__ float __ocml_fmax_f32(float, float);
extern "C" __device__ float __ocml_fmin_f32(float, float);
extern "C" __device__ int __ockl_wfall_i32(int);
extern "C" __device__ int __ockl_wfany_i32(int);
extern "C" __device__ size_t __ockl_get_local_id(unsigned int);
extern "C" __device__ size_t __ockl_get_group_id(unsigned int);
extern "C" __device__ size_t __ockl_get_local_size(unsigned int);
extern "C" __device__ size_t __ockl_get_num_groups(unsigned int);

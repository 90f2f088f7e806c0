#pragma once
#include <hip/amd_detail/host_defines.h>

// One read-modify-write per line; *_system has the wider scope.
#define __TORCHLESS_ATOMIC(name, builtin, T) \
  __device__ inline T name(T* p, T v) { return builtin(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
  __device__ inline T name##_system(T* p, T v) { return builtin(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
#define __TORCHLESS_ATOMIC_WHOLE(name, builtin) \
  __TORCHLESS_ATOMIC(name, builtin, int) \
  __TORCHLESS_ATOMIC(name, builtin, unsigned int) \
  __TORCHLESS_ATOMIC(name, builtin, unsigned long) \
  __TORCHLESS_ATOMIC(name, builtin, unsigned long long)
#define __TORCHLESS_ATOMIC_REAL(name, builtin) \
  __TORCHLESS_ATOMIC(name, builtin, float) \
  __TORCHLESS_ATOMIC(name, builtin, double)
__TORCHLESS_ATOMIC_WHOLE(atomicAdd, __hip_atomic_fetch_add)
__TORCHLESS_ATOMIC_REAL(atomicAdd, __hip_atomic_fetch_add)
__TORCHLESS_ATOMIC_WHOLE(atomicExch, __hip_atomic_exchange)
__TORCHLESS_ATOMIC_REAL(atomicExch, __hip_atomic_exchange)
__TORCHLESS_ATOMIC_WHOLE(atomicMin, __hip_atomic_fetch_min)
__TORCHLESS_ATOMIC_REAL(atomicMin, __hip_atomic_fetch_min)
__TORCHLESS_ATOMIC(atomicMin, __hip_atomic_fetch_min, long long)
__TORCHLESS_ATOMIC_WHOLE(atomicMax, __hip_atomic_fetch_max)
__TORCHLESS_ATOMIC_REAL(atomicMax, __hip_atomic_fetch_max)
__TORCHLESS_ATOMIC(atomicMax, __hip_atomic_fetch_max, long long)
__TORCHLESS_ATOMIC_WHOLE(atomicAnd, __hip_atomic_fetch_and)
__TORCHLESS_ATOMIC_WHOLE(atomicOr, __hip_atomic_fetch_or)
__TORCHLESS_ATOMIC_WHOLE(atomicXor, __hip_atomic_fetch_xor)
#undef __TORCHLESS_ATOMIC_WHOLE
#undef __TORCHLESS_ATOMIC_REAL
#undef __TORCHLESS_ATOMIC
__device__ inline int atomicSub(int* p, int v) { return atomicAdd(p, -v); }
__device__ inline unsigned int atomicSub(unsigned int* p, unsigned int v) { return atomicAdd(p, -v); }
__device__ inline unsigned int atomicInc(unsigned int* p, unsigned int v) { return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "agent"); }
__device__ inline unsigned int atomicDec(unsigned int* p, unsigned int v) { return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "agent"); }
#define __TORCHLESS_CAS(T) \
  __device__ inline T atomicCAS(T* p, T compare, T v) { __hip_atomic_compare_exchange_strong(p, &compare, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); return compare; } \
  __device__ inline T atomicCAS_system(T* p, T compare, T v) { __hip_atomic_compare_exchange_strong(p, &compare, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); return compare; }
__TORCHLESS_CAS(unsigned short)
__TORCHLESS_CAS(int)
__TORCHLESS_CAS(unsigned int)
__TORCHLESS_CAS(unsigned long)
__TORCHLESS_CAS(unsigned long long)
__TORCHLESS_CAS(float)
__TORCHLESS_CAS(double)
#undef __TORCHLESS_CAS
__device__ inline float unsafeAtomicAdd(float* p, float v) { return atomicAdd(p, v); }
__device__ inline double unsafeAtomicAdd(double* p, double v) { return atomicAdd(p, v); }
__device__ inline float safeAtomicAdd(float* p, float v) { return atomicAdd(p, v); }
__device__ inline float atomicAddNoRet(float* p, float v) { return atomicAdd(p, v); }

#pragma once
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

// Generators: a state, hiprand_init, and one draw of each kind.
#define __TORCHLESS_HIPRAND(name) \
  struct name { unsigned long long seed, subsequence, offset; }; \
  typedef name name##_t; \
  __device__ inline void hiprand_init(const unsigned long long seed, const unsigned long long subsequence, const unsigned long long offset, name* s) { *s = name{seed, subsequence, offset}; } \
  __device__ inline unsigned int hiprand(name* s) { return (unsigned int)(s->seed ^ s->subsequence ^ s->offset++); } \
  __device__ inline uint4 hiprand4(name* s) { return uint4(hiprand(s), hiprand(s), hiprand(s), hiprand(s)); } \
  __device__ inline float hiprand_uniform(name* s) { return (float)hiprand(s) * 2.3283064e-10f; } \
  __device__ inline float4 hiprand_uniform4(name* s) { return float4(hiprand_uniform(s), hiprand_uniform(s), hiprand_uniform(s), hiprand_uniform(s)); } \
  __device__ inline double hiprand_uniform_double(name* s) { return (double)hiprand_uniform(s); } \
  __device__ inline float hiprand_normal(name* s) { return hiprand_uniform(s); } \
  __device__ inline float2 hiprand_normal2(name* s) { return float2(hiprand_normal(s), hiprand_normal(s)); } \
  __device__ inline float4 hiprand_normal4(name* s) { return hiprand_uniform4(s); } \
  __device__ inline void skipahead(unsigned long long n, name* s) { s->offset += n; }
__TORCHLESS_HIPRAND(hiprandStatePhilox4_32_10)
__TORCHLESS_HIPRAND(hiprandStateXORWOW)
__TORCHLESS_HIPRAND(hiprandStateMRG32k3a)
#undef __TORCHLESS_HIPRAND
typedef hiprandStateXORWOW_t hiprandState_t;
typedef hiprandStateXORWOW_t hiprandState;

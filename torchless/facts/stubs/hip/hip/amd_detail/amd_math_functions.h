#pragma once
#include <hip/amd_detail/host_defines.h>

// Device math that the C library does not have; its own names (expf, __expf, ...) come from the prelude.
__host__ __device__ inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__host__ __device__ inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__device__ inline float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
__device__ inline float rhypotf(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }
__device__ float normcdff(float x);
__device__ float normcdfinvf(float x);
__device__ float erfcinvf(float x);
__device__ float erfinvf(float x);
__device__ float erfcxf(float x);
__device__ void sincospif(float x, float* s, float* c);
__device__ float sinpif(float x);
__device__ float cospif(float x);
__device__ inline float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
__device__ inline float __fdividef(float x, float y) { return x / y; }
__device__ inline float __fadd_rn(float x, float y) { return x + y; }
__device__ inline float __fsub_rn(float x, float y) { return x - y; }
__device__ inline float __fmul_rn(float x, float y) { return x * y; }
__device__ inline float __fdiv_rn(float x, float y) { return x / y; }
__device__ inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__device__ inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
__device__ inline float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ inline float __frcp_rn(float x) { return 1.0f / x; }
__device__ inline double __dadd_rn(double x, double y) { return x + y; }
__device__ inline double __dmul_rn(double x, double y) { return x * y; }

// min and max in the global namespace: on the host for int alone.
template <class T> __device__ inline T min(T a, T b) { return a < b ? a : b; }
template <class T> __device__ inline T max(T a, T b) { return a > b ? a : b; }
__host__ __device__ inline int min(int a, int b) { return a < b ? a : b; }
__host__ __device__ inline int max(int a, int b) { return a > b ? a : b; }
__device__ inline float min(float a, float b) { return __builtin_fminf(a, b); }
__device__ inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
__device__ inline double min(double a, double b) { return __builtin_fmin(a, b); }
__device__ inline double max(double a, double b) { return __builtin_fmax(a, b); }

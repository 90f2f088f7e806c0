#pragma once
#include <hip/amd_detail/host_defines.h>
#include <hip/amd_detail/amd_hip_atomic.h>
#include <hip/amd_detail/amd_device_functions.h>
#include <hip/hip_vector_types.h>
#include <algorithm>
#include <climits>
#include <cmath>

struct __hip_bfloat16_raw { unsigned short x; };
struct __hip_bfloat162_raw { unsigned short x, y; };

struct __hip_bfloat16 {
  union { __bf16 __x_bf16; unsigned short __x; };
  __hip_bfloat16() = default;
  __host__ __device__ __hip_bfloat16(const __hip_bfloat16_raw& v) : __x(v.x) {}
  __host__ __device__ constexpr __hip_bfloat16(const __bf16 v) : __x_bf16(v) {}
  __host__ __device__ constexpr __hip_bfloat16(const float v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const double v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const int v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const unsigned int v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const short v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const unsigned short v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const long v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const unsigned long v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const long long v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ constexpr __hip_bfloat16(const unsigned long long v) : __x_bf16(static_cast<__bf16>(v)) {}
  __host__ __device__ operator __bf16() const { return __x_bf16; }
  __host__ __device__ operator float() const { return (float)__x_bf16; }
  __host__ __device__ operator __hip_bfloat16_raw() const { return {__x}; }
  __host__ __device__ operator bool() const { return (float)__x_bf16 != 0.0f; }
  __host__ __device__ explicit operator char() const { return (char)(float)__x_bf16; }
  __host__ __device__ explicit operator int() const { return (int)(float)__x_bf16; }
  __host__ __device__ explicit operator unsigned int() const { return (unsigned int)(float)__x_bf16; }
  __host__ __device__ explicit operator long long() const { return (long long)(float)__x_bf16; }
};
struct __hip_bfloat162 {
  union { struct { __hip_bfloat16 x, y; }; unsigned short __d[2]; };
  __hip_bfloat162() = default;
  __host__ __device__ __hip_bfloat162(const __hip_bfloat162_raw& v) : x(__hip_bfloat16_raw{v.x}), y(__hip_bfloat16_raw{v.y}) {}
  __host__ __device__ constexpr __hip_bfloat162(const __hip_bfloat16& a, const __hip_bfloat16& b) : x(a), y(b) {}
  __host__ __device__ operator __hip_bfloat162_raw() const { return {x.__x, y.__x}; }
  __host__ __device__ operator float2() const { return float2((float)x, (float)y); }
};
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
typedef __hip_bfloat16 nv_bfloat16;
typedef __hip_bfloat162 nv_bfloat162;

// Conversions.
__host__ __device__ inline float __bfloat162float(__hip_bfloat16 v) { return (float)v.__x_bf16; }
__host__ __device__ inline __hip_bfloat16 __float2bfloat16(float v) { return (__bf16)v; }
__host__ __device__ inline __hip_bfloat16 __float2bfloat16_rn(float v) { return (__bf16)v; }
__host__ __device__ inline __hip_bfloat16 __double2bfloat16(double v) { return (__bf16)(float)v; }
__host__ __device__ inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 v) { return v.__x; }
__host__ __device__ inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __hip_bfloat16_raw{v}; }
__host__ __device__ inline __hip_bfloat162 __float22bfloat162_rn(float2 v) { return {(__bf16)v.x, (__bf16)v.y}; }
__host__ __device__ inline __hip_bfloat162 __float2bfloat162_rn(float v) { return {(__bf16)v, (__bf16)v}; }
__host__ __device__ inline __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {(__bf16)a, (__bf16)b}; }
__host__ __device__ inline float2 __bfloat1622float2(__hip_bfloat162 v) { return float2((float)v.x, (float)v.y); }
__host__ __device__ inline __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 v) { return {v, v}; }
__host__ __device__ inline __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
__host__ __device__ inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
__host__ __device__ inline __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
__host__ __device__ inline __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
__host__ __device__ inline float __low2float(__hip_bfloat162 v) { return (float)v.x; }
__host__ __device__ inline float __high2float(__hip_bfloat162 v) { return (float)v.y; }

// Arithmetic, by way of float.
__device__ inline __hip_bfloat16 __hadd(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a + (float)b; }
__device__ inline __hip_bfloat16 __hsub(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a - (float)b; }
__device__ inline __hip_bfloat16 __hmul(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a * (float)b; }
__device__ inline __hip_bfloat16 __hdiv(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a / (float)b; }
__device__ inline __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) { return __builtin_fmaf(a, b, c); }
__device__ inline __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -(float)a; }
__device__ inline __hip_bfloat16 __habs(__hip_bfloat16 a) { return __builtin_fabsf(a); }
__device__ inline __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) { return __builtin_fmaxf(a, b); }
__device__ inline __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) { return __builtin_fminf(a, b); }
__device__ inline __hip_bfloat162 __hadd2(__hip_bfloat162 a, __hip_bfloat162 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
__device__ inline __hip_bfloat162 __hsub2(__hip_bfloat162 a, __hip_bfloat162 b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }
__device__ inline __hip_bfloat162 __hmul2(__hip_bfloat162 a, __hip_bfloat162 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
__device__ inline __hip_bfloat162 __h2div(__hip_bfloat162 a, __hip_bfloat162 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
__device__ inline __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
__device__ inline __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return {__hneg(a.x), __hneg(a.y)}; }
__device__ inline __hip_bfloat162 __habs2(__hip_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
__device__ inline __hip_bfloat162 __hmax2(__hip_bfloat162 a, __hip_bfloat162 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
__device__ inline __hip_bfloat162 __hmin2(__hip_bfloat162 a, __hip_bfloat162 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
__device__ inline __hip_bfloat16 operator+(const __hip_bfloat16& a) { return a; }
__device__ inline __hip_bfloat16 operator-(const __hip_bfloat16& a) { return __hneg(a); }
__device__ inline __hip_bfloat16 operator+(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hadd(a, b); }
__device__ inline __hip_bfloat16 operator-(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hsub(a, b); }
__device__ inline __hip_bfloat16 operator*(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hmul(a, b); }
__device__ inline __hip_bfloat16 operator/(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hdiv(a, b); }
__device__ inline __hip_bfloat16& operator+=(__hip_bfloat16& a, const __hip_bfloat16& b) { return a = a + b; }
__device__ inline __hip_bfloat16& operator-=(__hip_bfloat16& a, const __hip_bfloat16& b) { return a = a - b; }
__device__ inline __hip_bfloat16& operator*=(__hip_bfloat16& a, const __hip_bfloat16& b) { return a = a * b; }
__device__ inline __hip_bfloat16& operator/=(__hip_bfloat16& a, const __hip_bfloat16& b) { return a = a / b; }
__device__ inline __hip_bfloat162 operator+(const __hip_bfloat162& a, const __hip_bfloat162& b) { return __hadd2(a, b); }
__device__ inline __hip_bfloat162 operator-(const __hip_bfloat162& a, const __hip_bfloat162& b) { return __hsub2(a, b); }
__device__ inline __hip_bfloat162 operator*(const __hip_bfloat162& a, const __hip_bfloat162& b) { return __hmul2(a, b); }
__device__ inline __hip_bfloat162& operator+=(__hip_bfloat162& a, const __hip_bfloat162& b) { return a = a + b; }
__device__ inline __hip_bfloat162& operator*=(__hip_bfloat162& a, const __hip_bfloat162& b) { return a = a * b; }

// Comparisons.
__device__ inline bool __heq(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a == (float)b; }
__device__ inline bool __hne(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a != (float)b; }
__device__ inline bool __hlt(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a < (float)b; }
__device__ inline bool __hle(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a <= (float)b; }
__device__ inline bool __hgt(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a > (float)b; }
__device__ inline bool __hge(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a >= (float)b; }
__device__ inline bool __hisnan(__hip_bfloat16 a) { return (float)a != (float)a; }
__device__ inline int __hisinf(__hip_bfloat16 a) { return __builtin_isinf((float)a); }
__device__ inline bool operator==(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __heq(a, b); }
__device__ inline bool operator!=(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hne(a, b); }
__device__ inline bool operator<(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hlt(a, b); }
__device__ inline bool operator<=(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hle(a, b); }
__device__ inline bool operator>(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hgt(a, b); }
__device__ inline bool operator>=(const __hip_bfloat16& a, const __hip_bfloat16& b) { return __hge(a, b); }

// Math.
__device__ inline __hip_bfloat16 hexp(__hip_bfloat16 a) { return __builtin_expf(a); }
__device__ inline __hip_bfloat16 hsqrt(__hip_bfloat16 a) { return __builtin_sqrtf(a); }
__device__ inline __hip_bfloat16 hrsqrt(__hip_bfloat16 a) { return rsqrtf(a); }
__device__ inline __hip_bfloat16 hrcp(__hip_bfloat16 a) { return 1.0f / (float)a; }
__device__ inline __hip_bfloat162 h2exp(__hip_bfloat162 a) { return {hexp(a.x), hexp(a.y)}; }
__device__ inline __hip_bfloat162 h2rcp(__hip_bfloat162 a) { return {hrcp(a.x), hrcp(a.y)}; }

// Lanes and memory.
__TORCHLESS_SHFL(__hip_bfloat16)
__TORCHLESS_SHFL(__hip_bfloat162)
__device__ inline __hip_bfloat162 atomicAdd(__hip_bfloat162* p, __hip_bfloat162 v) { __hip_bfloat162 old = *p; *p = old + v; return old; }
__device__ inline __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162* p, __hip_bfloat162 v) { return atomicAdd(p, v); }

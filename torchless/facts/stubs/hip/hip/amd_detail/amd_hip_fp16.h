#pragma once
#include <hip/amd_detail/host_defines.h>
#include <hip/amd_detail/amd_hip_atomic.h>
#include <assert.h>
#include <algorithm>
#include <type_traits>
#include <utility>
#include <hip/hip_vector_types.h>
#include <hip/amd_detail/amd_device_functions.h>

typedef _Float16 _Float16_2 __attribute__((ext_vector_type(2)));
struct __half_raw { union { unsigned short x; _Float16 data; }; };
struct __half2_raw { union { struct { unsigned short x, y; }; _Float16_2 data; }; };

struct __half {
  union { _Float16 data; unsigned short __x; };
  __half() = default;
  __host__ __device__ constexpr __half(decltype(data) v) : data{v} {}
  __host__ __device__ __half(const __half_raw& v) : data{v.data} {}
#if !defined(__HIP_NO_HALF_CONVERSIONS__)
  template <typename T, std::enable_if_t<std::is_arithmetic<T>{}, int> = 0> __host__ __device__ constexpr __half(T v) : data{static_cast<_Float16>(v)} {}
  template <typename T, std::enable_if_t<std::is_floating_point<T>{}, int> = 0> __host__ __device__ operator T() const { return static_cast<T>(data); }
  template <typename T, std::enable_if_t<std::is_integral<T>{}, int> = 0> __host__ __device__ operator T() const { return static_cast<T>(data); }
  template <typename T, std::enable_if_t<std::is_arithmetic<T>{}, int> = 0> __host__ __device__ __half& operator=(T v) { data = static_cast<_Float16>(v); return *this; }
#endif
  __half(const __half&) = default;
  __half(__half&&) = default;
  __half& operator=(const __half&) = default;
  __half& operator=(__half&&) = default;
  __host__ __device__ __half& operator=(const __half_raw& v) { data = v.data; return *this; }
  __host__ __device__ operator __half_raw() const { return __half_raw{.data = data}; }
  __host__ __device__ operator _Float16() const { return data; }
#if !defined(__HIP_NO_HALF_OPERATORS__)
  __device__ __half& operator+=(const __half& o) { data += o.data; return *this; }
  __device__ __half& operator-=(const __half& o) { data -= o.data; return *this; }
  __device__ __half& operator*=(const __half& o) { data *= o.data; return *this; }
  __device__ __half& operator/=(const __half& o) { data /= o.data; return *this; }
  __device__ __half& operator++() { data += _Float16(1); return *this; }
  __device__ __half& operator--() { data -= _Float16(1); return *this; }
  __device__ __half operator+() const { return *this; }
  __device__ __half operator-() const { return __half(_Float16(-data)); }
#endif
};
#if !defined(__HIP_NO_HALF_OPERATORS__)
__device__ inline __half operator+(const __half& a, const __half& b) { return _Float16(a.data + b.data); }
__device__ inline __half operator-(const __half& a, const __half& b) { return _Float16(a.data - b.data); }
__device__ inline __half operator*(const __half& a, const __half& b) { return _Float16(a.data * b.data); }
__device__ inline __half operator/(const __half& a, const __half& b) { return _Float16(a.data / b.data); }
__device__ inline bool operator==(const __half& a, const __half& b) { return a.data == b.data; }
__device__ inline bool operator!=(const __half& a, const __half& b) { return a.data != b.data; }
__device__ inline bool operator<(const __half& a, const __half& b) { return a.data < b.data; }
__device__ inline bool operator>(const __half& a, const __half& b) { return a.data > b.data; }
__device__ inline bool operator<=(const __half& a, const __half& b) { return a.data <= b.data; }
__device__ inline bool operator>=(const __half& a, const __half& b) { return a.data >= b.data; }
#endif

struct __half2 {
  union { _Float16_2 data; struct { __half x, y; }; };
  __half2() = default;
  __host__ __device__ __half2(_Float16_2 v) : data{v} {}
  __host__ __device__ __half2(const __half& a, const __half& b) : data{a.data, b.data} {}
  __host__ __device__ __half2(const __half2_raw& v) : data{v.data} {}
  __half2(const __half2&) = default;
  __half2& operator=(const __half2&) = default;
  __host__ __device__ operator _Float16_2() const { return data; }
  __host__ __device__ operator __half2_raw() const { return __half2_raw{.data = data}; }
  __device__ __half2& operator+=(const __half2& o) { data += o.data; return *this; }
  __device__ __half2& operator-=(const __half2& o) { data -= o.data; return *this; }
  __device__ __half2& operator*=(const __half2& o) { data *= o.data; return *this; }
  __device__ __half2& operator/=(const __half2& o) { data /= o.data; return *this; }
};
__device__ inline __half2 operator+(const __half2& a, const __half2& b) { return a.data + b.data; }
__device__ inline __half2 operator-(const __half2& a, const __half2& b) { return a.data - b.data; }
__device__ inline __half2 operator*(const __half2& a, const __half2& b) { return a.data * b.data; }
__device__ inline __half2 operator/(const __half2& a, const __half2& b) { return a.data / b.data; }
using half = __half;
using half2 = __half2;
__host__ __device__ inline __half2 make_half2(__half x, __half y) { return __half2(x, y); }

// Conversions.
__host__ __device__ inline float __half2float(__half v) { return (float)v.data; }
__host__ __device__ inline __half __float2half(float v) { return (_Float16)v; }
__host__ __device__ inline __half __float2half_rn(float v) { return (_Float16)v; }
__host__ __device__ inline __half __float2half_rz(float v) { return (_Float16)v; }
__host__ __device__ inline __half __double2half(double v) { return (_Float16)v; }
__device__ inline int __half2int_rn(__half v) { return (int)v.data; }
__device__ inline __half __int2half_rn(int v) { return (_Float16)v; }
__device__ inline __half __uint2half_rn(unsigned v) { return (_Float16)v; }
__host__ __device__ inline unsigned short __half_as_ushort(__half v) { return __builtin_bit_cast(unsigned short, v.data); }
__host__ __device__ inline short __half_as_short(__half v) { return __builtin_bit_cast(short, v.data); }
__host__ __device__ inline __half __ushort_as_half(unsigned short v) { return __builtin_bit_cast(_Float16, v); }
__host__ __device__ inline __half __short_as_half(short v) { return __builtin_bit_cast(_Float16, v); }
__host__ __device__ inline __half2 __float2half2_rn(float v) { return __half2(__float2half(v), __float2half(v)); }
__host__ __device__ inline __half2 __floats2half2_rn(float a, float b) { return __half2(__float2half(a), __float2half(b)); }
__host__ __device__ inline __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
__host__ __device__ inline float2 __half22float2(__half2 v) { return float2(__half2float(v.x), __half2float(v.y)); }
__host__ __device__ inline __half2 __half2half2(__half v) { return __half2(v, v); }
__host__ __device__ inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
__host__ __device__ inline __half __low2half(__half2 v) { return v.x; }
__host__ __device__ inline __half __high2half(__half2 v) { return v.y; }
__host__ __device__ inline float __low2float(__half2 v) { return __half2float(v.x); }
__host__ __device__ inline float __high2float(__half2 v) { return __half2float(v.y); }
__device__ inline __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
__device__ inline __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
__device__ inline __half2 __lowhigh2highlow(__half2 v) { return __half2(v.y, v.x); }

// Arithmetic.
__device__ inline __half __hadd(__half a, __half b) { return _Float16(a.data + b.data); }
__device__ inline __half __hsub(__half a, __half b) { return _Float16(a.data - b.data); }
__device__ inline __half __hmul(__half a, __half b) { return _Float16(a.data * b.data); }
__device__ inline __half __hdiv(__half a, __half b) { return _Float16(a.data / b.data); }
__device__ inline __half __hfma(__half a, __half b, __half c) { return (_Float16)__builtin_elementwise_fma(a.data, b.data, c.data); }
__device__ inline __half __hneg(__half a) { return _Float16(-a.data); }
__device__ inline __half __habs(__half a) { return (_Float16)__builtin_elementwise_abs(a.data); }
__device__ inline __half __hmax(__half a, __half b) { return (_Float16)__builtin_elementwise_max(a.data, b.data); }
__device__ inline __half __hmin(__half a, __half b) { return (_Float16)__builtin_elementwise_min(a.data, b.data); }
__device__ inline __half2 __hadd2(__half2 a, __half2 b) { return a.data + b.data; }
__device__ inline __half2 __hsub2(__half2 a, __half2 b) { return a.data - b.data; }
__device__ inline __half2 __hmul2(__half2 a, __half2 b) { return a.data * b.data; }
__device__ inline __half2 __h2div(__half2 a, __half2 b) { return a.data / b.data; }
__device__ inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __builtin_elementwise_fma(a.data, b.data, c.data); }
__device__ inline __half2 __hneg2(__half2 a) { return -a.data; }
__device__ inline __half2 __habs2(__half2 a) { return __builtin_elementwise_abs(a.data); }
__device__ inline __half2 __hmax2(__half2 a, __half2 b) { return __builtin_elementwise_max(a.data, b.data); }
__device__ inline __half2 __hmin2(__half2 a, __half2 b) { return __builtin_elementwise_min(a.data, b.data); }

// Comparisons.
__device__ inline bool __heq(__half a, __half b) { return a.data == b.data; }
__device__ inline bool __hne(__half a, __half b) { return a.data != b.data; }
__device__ inline bool __hlt(__half a, __half b) { return a.data < b.data; }
__device__ inline bool __hle(__half a, __half b) { return a.data <= b.data; }
__device__ inline bool __hgt(__half a, __half b) { return a.data > b.data; }
__device__ inline bool __hge(__half a, __half b) { return a.data >= b.data; }
__device__ inline bool __hisnan(__half a) { return a.data != a.data; }
__device__ inline int __hisinf(__half a) { return __builtin_isinf((float)a.data); }

// Math.
__device__ inline __half hexp(__half a) { return (_Float16)__builtin_expf((float)a.data); }
__device__ inline __half hexp2(__half a) { return (_Float16)__builtin_exp2f((float)a.data); }
__device__ inline __half hlog(__half a) { return (_Float16)__builtin_logf((float)a.data); }
__device__ inline __half hlog2(__half a) { return (_Float16)__builtin_log2f((float)a.data); }
__device__ inline __half hsqrt(__half a) { return (_Float16)__builtin_sqrtf((float)a.data); }
__device__ inline __half hrsqrt(__half a) { return (_Float16)rsqrtf((float)a.data); }
__device__ inline __half hrcp(__half a) { return _Float16(_Float16(1) / a.data); }
__device__ inline __half hsin(__half a) { return (_Float16)__builtin_sinf((float)a.data); }
__device__ inline __half hcos(__half a) { return (_Float16)__builtin_cosf((float)a.data); }
__device__ inline __half hfloor(__half a) { return (_Float16)__builtin_floorf((float)a.data); }
__device__ inline __half hceil(__half a) { return (_Float16)__builtin_ceilf((float)a.data); }
__device__ inline __half hrint(__half a) { return (_Float16)__builtin_rintf((float)a.data); }
__device__ inline __half htrunc(__half a) { return (_Float16)__builtin_truncf((float)a.data); }
__device__ inline __half2 h2exp(__half2 a) { return __half2(hexp(a.x), hexp(a.y)); }
__device__ inline __half2 h2rcp(__half2 a) { return __half2(hrcp(a.x), hrcp(a.y)); }

// Lanes and memory.
__TORCHLESS_SHFL(__half)
__TORCHLESS_SHFL(__half2)
__device__ inline __half2 atomicAdd(__half2* p, __half2 v) { __half2 old = *p; *p = old + v; return old; }
__device__ inline __half2 unsafeAtomicAdd(__half2* p, __half2 v) { return atomicAdd(p, v); }

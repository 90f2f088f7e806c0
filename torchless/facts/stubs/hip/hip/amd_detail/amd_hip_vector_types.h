#pragma once
#include <hip/amd_detail/host_defines.h>
#include <array>
#include <iosfwd>
#include <type_traits>

// float4 and its kin: one template, as in HIP, so that a vector's name is HIP_vector_type<float, 4>.
template <typename T, unsigned int N> struct HIP_vector_base;
template <typename T> struct HIP_vector_base<T, 1> {
  using Native_vec_ = T __attribute__((ext_vector_type(1)));
  union { Native_vec_ data; struct { T x; }; };
  using value_type = T;
  constexpr HIP_vector_base() = default;
  __host__ __device__ explicit constexpr HIP_vector_base(T a) noexcept : data{a} {}
};
template <typename T> struct HIP_vector_base<T, 2> {
  using Native_vec_ = T __attribute__((ext_vector_type(2)));
  union { Native_vec_ data; struct { T x, y; }; };
  using value_type = T;
  constexpr HIP_vector_base() = default;
  __host__ __device__ explicit constexpr HIP_vector_base(T a) noexcept : data{a, a} {}
  __host__ __device__ constexpr HIP_vector_base(T a, T b) noexcept : data{a, b} {}
};
template <typename T> struct HIP_vector_base<T, 3> {
  struct Native_vec_ { T d[3]; __host__ __device__ constexpr T& operator[](unsigned i) noexcept { return d[i]; } __host__ __device__ constexpr const T& operator[](unsigned i) const noexcept { return d[i]; } };
  union { Native_vec_ data; struct { T x, y, z; }; };
  using value_type = T;
  constexpr HIP_vector_base() = default;
  __host__ __device__ explicit constexpr HIP_vector_base(T a) noexcept : data{a, a, a} {}
  __host__ __device__ constexpr HIP_vector_base(T a, T b, T c) noexcept : data{a, b, c} {}
};
template <typename T> struct HIP_vector_base<T, 4> {
  using Native_vec_ = T __attribute__((ext_vector_type(4)));
  union { Native_vec_ data; struct { T x, y, z, w; }; };
  using value_type = T;
  constexpr HIP_vector_base() = default;
  __host__ __device__ explicit constexpr HIP_vector_base(T a) noexcept : data{a, a, a, a} {}
  __host__ __device__ constexpr HIP_vector_base(T a, T b, T c, T d) noexcept : data{a, b, c, d} {}
};

template <typename T, unsigned int N> struct HIP_vector_type : HIP_vector_base<T, N> {
  using HIP_vector_base<T, N>::HIP_vector_base;
  using HIP_vector_base<T, N>::data;
  constexpr HIP_vector_type() = default;
  __host__ __device__ constexpr T& operator[](unsigned i) noexcept { return reinterpret_cast<T*>(this)[i]; }
  __host__ __device__ constexpr const T& operator[](unsigned i) const noexcept { return reinterpret_cast<const T*>(this)[i]; }
  __host__ __device__ HIP_vector_type& operator++() noexcept { return *this += HIP_vector_type(T(1)); }
  __host__ __device__ HIP_vector_type& operator--() noexcept { return *this -= HIP_vector_type(T(1)); }
  __host__ __device__ HIP_vector_type operator-() const noexcept { HIP_vector_type r; for (unsigned i = 0; i < N; ++i) r[i] = -(*this)[i]; return r; }
  __host__ __device__ HIP_vector_type operator~() const noexcept { HIP_vector_type r; for (unsigned i = 0; i < N; ++i) r[i] = ~(*this)[i]; return r; }
#define __TORCHLESS_VECTOR_ASSIGN(op) \
  __host__ __device__ HIP_vector_type& operator op(const HIP_vector_type& o) noexcept { for (unsigned i = 0; i < N; ++i) (*this)[i] op o[i]; return *this; } \
  template <typename U, std::enable_if_t<std::is_convertible<U, T>{}, int> = 0> __host__ __device__ HIP_vector_type& operator op(U s) noexcept { return *this op HIP_vector_type(T(s)); }
  __TORCHLESS_VECTOR_ASSIGN(+=)
  __TORCHLESS_VECTOR_ASSIGN(-=)
  __TORCHLESS_VECTOR_ASSIGN(*=)
  __TORCHLESS_VECTOR_ASSIGN(/=)
  __TORCHLESS_VECTOR_ASSIGN(%=)
  __TORCHLESS_VECTOR_ASSIGN(&=)
  __TORCHLESS_VECTOR_ASSIGN(|=)
  __TORCHLESS_VECTOR_ASSIGN(^=)
  __TORCHLESS_VECTOR_ASSIGN(<<=)
  __TORCHLESS_VECTOR_ASSIGN(>>=)
#undef __TORCHLESS_VECTOR_ASSIGN
};
#define __TORCHLESS_VECTOR_BINARY(op) \
  template <typename T, unsigned int N> __host__ __device__ inline HIP_vector_type<T, N> operator op(HIP_vector_type<T, N> a, const HIP_vector_type<T, N>& b) noexcept { return a op##= b; } \
  template <typename T, unsigned int N, typename U, std::enable_if_t<std::is_convertible<U, T>{}, int> = 0> __host__ __device__ inline HIP_vector_type<T, N> operator op(HIP_vector_type<T, N> a, U b) noexcept { return a op##= HIP_vector_type<T, N>(T(b)); } \
  template <typename T, unsigned int N, typename U, std::enable_if_t<std::is_convertible<U, T>{}, int> = 0> __host__ __device__ inline HIP_vector_type<T, N> operator op(U a, const HIP_vector_type<T, N>& b) noexcept { return HIP_vector_type<T, N>(T(a)) op##= b; }
__TORCHLESS_VECTOR_BINARY(+)
__TORCHLESS_VECTOR_BINARY(-)
__TORCHLESS_VECTOR_BINARY(*)
__TORCHLESS_VECTOR_BINARY(/)
__TORCHLESS_VECTOR_BINARY(%)
__TORCHLESS_VECTOR_BINARY(&)
__TORCHLESS_VECTOR_BINARY(|)
__TORCHLESS_VECTOR_BINARY(^)
__TORCHLESS_VECTOR_BINARY(<<)
__TORCHLESS_VECTOR_BINARY(>>)
#undef __TORCHLESS_VECTOR_BINARY
template <typename T, unsigned int N> __host__ __device__ constexpr bool operator==(const HIP_vector_type<T, N>& a, const HIP_vector_type<T, N>& b) noexcept { for (unsigned i = 0; i < N; ++i) if (!(a[i] == b[i])) return false; return true; }
template <typename T, unsigned int N> __host__ __device__ constexpr bool operator!=(const HIP_vector_type<T, N>& a, const HIP_vector_type<T, N>& b) noexcept { return !(a == b); }

#define __TORCHLESS_VECTOR_NAMES(T, name) \
  using name##1 = HIP_vector_type<T, 1>; \
  using name##2 = HIP_vector_type<T, 2>; \
  using name##3 = HIP_vector_type<T, 3>; \
  using name##4 = HIP_vector_type<T, 4>; \
  __host__ __device__ inline name##1 make_##name##1(T x) { return name##1(x); } \
  __host__ __device__ inline name##2 make_##name##2(T x, T y) { return name##2(x, y); } \
  __host__ __device__ inline name##3 make_##name##3(T x, T y, T z) { return name##3(x, y, z); } \
  __host__ __device__ inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4(x, y, z, w); }
__TORCHLESS_VECTOR_NAMES(char, char)
__TORCHLESS_VECTOR_NAMES(unsigned char, uchar)
__TORCHLESS_VECTOR_NAMES(short, short)
__TORCHLESS_VECTOR_NAMES(unsigned short, ushort)
__TORCHLESS_VECTOR_NAMES(int, int)
__TORCHLESS_VECTOR_NAMES(unsigned int, uint)
__TORCHLESS_VECTOR_NAMES(long, long)
__TORCHLESS_VECTOR_NAMES(unsigned long, ulong)
__TORCHLESS_VECTOR_NAMES(long long, longlong)
__TORCHLESS_VECTOR_NAMES(unsigned long long, ulonglong)
__TORCHLESS_VECTOR_NAMES(float, float)
__TORCHLESS_VECTOR_NAMES(double, double)
#undef __TORCHLESS_VECTOR_NAMES

#pragma once
#include <c10/macros/Macros.h>
#include <cmath>
#include <limits>
#include <ostream>

// What Half, BFloat16 and the Float8 kinds share: arithmetic among themselves, with float, double, int, long.
#define __TORCHLESS_SMALL_FLOAT_OP(T, op) \
  C10_HOST_DEVICE inline T operator op(const T& a, const T& b) { return T(static_cast<float>(a) op static_cast<float>(b)); } \
  C10_HOST_DEVICE inline float operator op(T a, float b) { return static_cast<float>(a) op b; } \
  C10_HOST_DEVICE inline float operator op(float a, T b) { return a op static_cast<float>(b); } \
  C10_HOST_DEVICE inline double operator op(T a, double b) { return static_cast<float>(a) op b; } \
  C10_HOST_DEVICE inline double operator op(double a, T b) { return a op static_cast<float>(b); } \
  C10_HOST_DEVICE inline T operator op(T a, int b) { return a op T(static_cast<float>(b)); } \
  C10_HOST_DEVICE inline T operator op(int a, T b) { return T(static_cast<float>(a)) op b; } \
  C10_HOST_DEVICE inline T operator op(T a, int64_t b) { return a op T(static_cast<float>(b)); } \
  C10_HOST_DEVICE inline T operator op(int64_t a, T b) { return T(static_cast<float>(a)) op b; } \
  C10_HOST_DEVICE inline T& operator op##=(T& a, const T& b) { return a = a op b; } \
  C10_HOST_DEVICE inline float& operator op##=(float& a, const T& b) { return a = a op b; }
#define __TORCHLESS_SMALL_FLOAT(T) \
  __TORCHLESS_SMALL_FLOAT_OP(T, +) \
  __TORCHLESS_SMALL_FLOAT_OP(T, -) \
  __TORCHLESS_SMALL_FLOAT_OP(T, *) \
  __TORCHLESS_SMALL_FLOAT_OP(T, /) \
  C10_HOST_DEVICE inline T operator-(const T& a) { return T(-static_cast<float>(a)); } \
  inline std::ostream& operator<<(std::ostream& out, const T& v) { return out << static_cast<float>(v); }
#define __TORCHLESS_SMALL_FLOAT_LIMITS(T) \
  namespace std { template <> class numeric_limits<c10::T> : public numeric_limits<float> { public: \
    static constexpr c10::T lowest() { return c10::T(0, c10::T::from_bits()); } \
    static constexpr c10::T min() { return c10::T(0, c10::T::from_bits()); } \
    static constexpr c10::T max() { return c10::T(0, c10::T::from_bits()); } \
    static constexpr c10::T infinity() { return c10::T(0, c10::T::from_bits()); } \
    static constexpr c10::T quiet_NaN() { return c10::T(0, c10::T::from_bits()); } \
    static constexpr c10::T epsilon() { return c10::T(0, c10::T::from_bits()); } }; }

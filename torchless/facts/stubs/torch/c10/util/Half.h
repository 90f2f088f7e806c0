#pragma once
#include <cstdint>
#include <cstring>
#include <cmath>
#include <complex>
#include <iosfwd>
#include <limits>
#include <memory>
#include <ostream>
#include <type_traits>
#include <utility>
#include <c10/macros/Macros.h>
#if defined(__HIP__)
#include <hip/hip_bfloat16.h>  // torch: by way of c10/util/complex.h and thrust
#include <hip/hip_fp16.h>
#endif

#if defined(TORCHLESS_TARGET_ELEMENTS) && defined(__HIP__)
// Device code of two versions is compared with the same element types on both sides.
namespace c10 {
using Half = ::__half;
}
#else
namespace c10 {
struct alignas(2) Half {
  unsigned short x;
  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Half() = default;
  constexpr C10_HOST_DEVICE Half(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE Half(float v) : x(__builtin_bit_cast(unsigned short, (_Float16)v)) {}
  C10_HOST_DEVICE operator float() const { return (float)__builtin_bit_cast(_Float16, x); }
#if defined(__HIP__)
  C10_HOST_DEVICE Half(const __half& v) : x(v.__x) {}
  C10_HOST_DEVICE operator __half() const { return __builtin_bit_cast(_Float16, x); }
#endif
};
}  // namespace c10
#include <c10/util/detail/small_float.h>
namespace c10 {
__TORCHLESS_SMALL_FLOAT(Half)
}
__TORCHLESS_SMALL_FLOAT_LIMITS(Half)
#endif

#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>
#include <memory>
#include <ostream>
#include <c10/macros/Macros.h>
#include <c10/util/detail/small_float.h>

#if defined(TORCHLESS_TARGET_ELEMENTS) && defined(__HIP__)
#include <hip/hip_bfloat16.h>
namespace c10 {
using BFloat16 = ::hip_bfloat16;
}
#else
namespace c10 {
struct alignas(2) BFloat16 {
  uint16_t x;
  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }
  BFloat16() = default;
  constexpr C10_HOST_DEVICE BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE BFloat16(float v) : x(uint16_t(__builtin_bit_cast(uint32_t, v) >> 16)) {}
  C10_HOST_DEVICE operator float() const { return __builtin_bit_cast(float, uint32_t(x) << 16); }
};
__TORCHLESS_SMALL_FLOAT(BFloat16)
}  // namespace c10
__TORCHLESS_SMALL_FLOAT_LIMITS(BFloat16)
#endif

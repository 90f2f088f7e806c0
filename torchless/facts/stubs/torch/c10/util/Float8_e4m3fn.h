#pragma once
#include <c10/util/Half.h>

namespace c10 {
struct alignas(1) Float8_e4m3fn {
  uint8_t x;
  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }
  Float8_e4m3fn() = default;
  constexpr C10_HOST_DEVICE Float8_e4m3fn(uint8_t bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE Float8_e4m3fn(float v) : x(uint8_t(__builtin_bit_cast(uint32_t, v) >> 24)) {}
  C10_HOST_DEVICE operator float() const { return __builtin_bit_cast(float, uint32_t(x) << 24); }
};
__TORCHLESS_SMALL_FLOAT(Float8_e4m3fn)
}  // namespace c10
__TORCHLESS_SMALL_FLOAT_LIMITS(Float8_e4m3fn)

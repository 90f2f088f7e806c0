#pragma once
#include <c10/core/ScalarType.h>

namespace c10 {
class C10_API Scalar {
 public:
  Scalar();
#define __TORCHLESS_SCALAR(cpp, name) \
  Scalar(cpp v); \
  cpp to##name() const;
  __TORCHLESS_SCALAR(uint8_t, Byte)
  __TORCHLESS_SCALAR(int8_t, Char)
  __TORCHLESS_SCALAR(int16_t, Short)
  __TORCHLESS_SCALAR(int, Int)
  __TORCHLESS_SCALAR(int64_t, Long)
  __TORCHLESS_SCALAR(Half, Half)
  __TORCHLESS_SCALAR(float, Float)
  __TORCHLESS_SCALAR(double, Double)
  __TORCHLESS_SCALAR(bool, Bool)
  __TORCHLESS_SCALAR(BFloat16, BFloat16)
  __TORCHLESS_SCALAR(long long, LongLong)
  __TORCHLESS_SCALAR(uint16_t, UInt16)
  __TORCHLESS_SCALAR(uint32_t, UInt32)
  __TORCHLESS_SCALAR(uint64_t, UInt64)
#undef __TORCHLESS_SCALAR
  template <typename T> T to() const;
  bool isFloatingPoint() const;
  bool isIntegral(bool includeBool) const;
  bool isBoolean() const;
  ScalarType type() const noexcept;
  Scalar operator-() const;
};
std::ostream& operator<<(std::ostream& out, const Scalar& s);
}  // namespace c10

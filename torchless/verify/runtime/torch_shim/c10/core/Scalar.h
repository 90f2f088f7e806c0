#pragma once
#include <c10/core/ScalarType.h>

namespace c10 {
class C10_API Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
#define TORCHLESS_SCALAR(cpp, name, kept, word) \
  Scalar(cpp v) : type_(ScalarType::word), kept##_(static_cast<decltype(kept##_)>(v)) {} \
  cpp to##name() const { return to<cpp>(); }
  TORCHLESS_SCALAR(uint8_t, Byte, integer, Long)
  TORCHLESS_SCALAR(int8_t, Char, integer, Long)
  TORCHLESS_SCALAR(int16_t, Short, integer, Long)
  TORCHLESS_SCALAR(int, Int, integer, Long)
  TORCHLESS_SCALAR(int64_t, Long, integer, Long)
  TORCHLESS_SCALAR(Half, Half, real, Double)
  TORCHLESS_SCALAR(float, Float, real, Double)
  TORCHLESS_SCALAR(double, Double, real, Double)
  TORCHLESS_SCALAR(bool, Bool, integer, Bool)
  TORCHLESS_SCALAR(BFloat16, BFloat16, real, Double)
  TORCHLESS_SCALAR(uint16_t, UInt16, integer, Long)
  TORCHLESS_SCALAR(uint32_t, UInt32, integer, Long)
  TORCHLESS_SCALAR(uint64_t, UInt64, integer, Long)
#undef TORCHLESS_SCALAR
  Scalar(long long v) : Scalar(static_cast<int64_t>(v)) {}
  template <typename T>
  T to() const {
    if constexpr (std::is_same_v<T, double>) return isFloatingPoint() ? real_ : static_cast<double>(integer_);
    else if constexpr (std::is_integral_v<T>) return isFloatingPoint() ? static_cast<T>(real_) : static_cast<T>(integer_);
    else return T(static_cast<float>(isFloatingPoint() ? real_ : static_cast<double>(integer_)));
  }
  bool isFloatingPoint() const { return type_ == ScalarType::Double; }
  bool isIntegral(bool includeBool) const { return type_ == ScalarType::Long || (includeBool && isBoolean()); }
  bool isBoolean() const { return type_ == ScalarType::Bool; }
  ScalarType type() const noexcept { return type_; }
  Scalar operator-() const { return isFloatingPoint() ? Scalar(-real_) : Scalar(-integer_); }

 private:
  ScalarType type_;
  int64_t integer_ = 0;
  double real_ = 0;
};
std::ostream& operator<<(std::ostream& out, const Scalar& s);
}  // namespace c10

#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>
#include <unordered_map>
#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Float4_e2m1fn_x2.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Float8_e8m0fnu.h>
#include <c10/util/Half.h>

namespace c10 {
template <typename T> struct alignas(sizeof(T) * 2) complex { using value_type = T; T real_, imag_; constexpr complex() = default; constexpr C10_HOST_DEVICE complex(T re, T im = T()) : real_(re), imag_(im) {} constexpr C10_HOST_DEVICE T real() const { return real_; } constexpr C10_HOST_DEVICE T imag() const { return imag_; } };
struct alignas(1) qint8 { int8_t val_; };
struct alignas(1) quint8 { uint8_t val_; };
struct alignas(4) qint32 { int val_; };

// C++ type, enumerator: the kinds that have a C++ type of their own.
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(_) \
  _(uint8_t, Byte) \
  _(int8_t, Char) \
  _(int16_t, Short) \
  _(int, Int) \
  _(int64_t, Long) \
  _(c10::Half, Half) \
  _(float, Float) \
  _(double, Double) \
  _(c10::complex<c10::Half>, ComplexHalf) \
  _(c10::complex<float>, ComplexFloat) \
  _(c10::complex<double>, ComplexDouble) \
  _(bool, Bool) \
  _(c10::qint8, QInt8) \
  _(c10::quint8, QUInt8) \
  _(c10::qint32, QInt32) \
  _(c10::BFloat16, BFloat16) \
  _(c10::Float8_e5m2, Float8_e5m2) \
  _(c10::Float8_e4m3fn, Float8_e4m3fn) \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz) \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz) \
  _(uint16_t, UInt16) \
  _(uint32_t, UInt32) \
  _(uint64_t, UInt64) \
  _(c10::Float8_e8m0fnu, Float8_e8m0fnu) \
  _(c10::Float4_e2m1fn_x2, Float4_e2m1fn_x2)

enum class ScalarType : int8_t {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8, QInt32, BFloat16,
  QUInt4x2, QUInt2x4, Bits1x8, Bits2x4, Bits4x2, Bits8, Bits16, Float8_e5m2, Float8_e4m3fn, Float8_e5m2fnuz, Float8_e4m3fnuz,
  UInt16, UInt32, UInt64, UInt1, UInt2, UInt3, UInt4, UInt5, UInt6, UInt7, Int1, Int2, Int3, Int4, Int5, Int6, Int7, Float8_e8m0fnu, Float4_e2m1fn_x2,
  Undefined, NumOptions
};
#define __TORCHLESS_CONSTANT(_, name) constexpr ScalarType k##name = ScalarType::name;
AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(__TORCHLESS_CONSTANT)
__TORCHLESS_CONSTANT(_, QUInt4x2)
__TORCHLESS_CONSTANT(_, QUInt2x4)
__TORCHLESS_CONSTANT(_, Bits1x8)
__TORCHLESS_CONSTANT(_, Bits2x4)
__TORCHLESS_CONSTANT(_, Bits4x2)
__TORCHLESS_CONSTANT(_, Bits8)
__TORCHLESS_CONSTANT(_, Bits16)
#undef __TORCHLESS_CONSTANT

template <typename T> struct CppTypeToScalarType;
namespace impl { template <ScalarType N> struct ScalarTypeToCPPType; }
#define __TORCHLESS_MAP(cpp, name) \
  template <> struct CppTypeToScalarType<cpp> : std::integral_constant<ScalarType, ScalarType::name> {}; \
  namespace impl { template <> struct ScalarTypeToCPPType<ScalarType::name> { using type = cpp; }; }
AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(__TORCHLESS_MAP)
#undef __TORCHLESS_MAP
namespace impl { template <ScalarType N> using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type; }

const char* toString(ScalarType t);
size_t elementSize(ScalarType t);
bool isIntegralType(ScalarType t, bool includeBool);
bool isFloatingType(ScalarType t);
bool isReducedFloatingType(ScalarType t);
bool isFloat8Type(ScalarType t);
bool isComplexType(ScalarType t);
bool isQIntType(ScalarType t);
bool isSignedType(ScalarType t);
bool canCast(const ScalarType from, const ScalarType to);
ScalarType promoteTypes(ScalarType a, ScalarType b);
ScalarType toUnderlying(ScalarType t);
std::ostream& operator<<(std::ostream& stream, ScalarType scalar_type);
}  // namespace c10

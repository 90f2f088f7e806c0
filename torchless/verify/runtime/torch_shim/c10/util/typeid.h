#pragma once
#include <string_view>
#include <c10/core/ScalarType.h>

namespace caffe2 {
class C10_API TypeMeta final {
 public:
  TypeMeta() noexcept = default;
  template <typename T>
  static TypeMeta Make() { return fromScalarType(c10::CppTypeToScalarType<T>::value); }
  static TypeMeta fromScalarType(c10::ScalarType scalar_type) {
    TypeMeta out;
    out.type_ = scalar_type;
    return out;
  }
  c10::ScalarType toScalarType() const { return type_; }
  bool isScalarType() const noexcept { return type_ != c10::ScalarType::Undefined; }
  bool isScalarType(c10::ScalarType t) const noexcept { return type_ == t; }
  size_t itemsize() const noexcept;
  std::string_view name() const noexcept;
  template <typename T>
  bool Match() const noexcept { return type_ == c10::CppTypeToScalarType<T>::value; }
  friend bool operator==(const TypeMeta a, const TypeMeta b) noexcept { return a.type_ == b.type_; }

 private:
  c10::ScalarType type_ = c10::ScalarType::Undefined;
};
inline bool operator!=(const TypeMeta a, const TypeMeta b) noexcept { return !(a == b); }
std::ostream& operator<<(std::ostream& stream, TypeMeta meta);
}  // namespace caffe2
namespace c10 {
inline caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType t) { return caffe2::TypeMeta::fromScalarType(t); }
inline ScalarType typeMetaToScalarType(caffe2::TypeMeta m) { return m.toScalarType(); }
inline bool operator==(ScalarType t, caffe2::TypeMeta m) noexcept { return m.isScalarType(t); }
inline bool operator==(caffe2::TypeMeta m, ScalarType t) noexcept { return m.isScalarType(t); }
inline bool operator!=(ScalarType t, caffe2::TypeMeta m) noexcept { return !m.isScalarType(t); }
inline bool operator!=(caffe2::TypeMeta m, ScalarType t) noexcept { return !m.isScalarType(t); }
}  // namespace c10

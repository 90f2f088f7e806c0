#pragma once
#include <string_view>
#include <c10/core/ScalarType.h>

namespace caffe2 {
class C10_API TypeMeta final {
 public:
  TypeMeta() noexcept;
  template <typename T> static TypeMeta Make();
  static TypeMeta fromScalarType(c10::ScalarType scalar_type);
  c10::ScalarType toScalarType() const;
  bool isScalarType() const noexcept;
  bool isScalarType(c10::ScalarType scalar_type) const noexcept;
  size_t itemsize() const noexcept;
  std::string_view name() const noexcept;
  template <typename T> bool Match() const noexcept;
  friend bool operator==(const TypeMeta lhs, const TypeMeta rhs) noexcept;
 private:
  unsigned short index_;  // sizeof(x.dtype()) is 2, which launchers have taken for an element's size
};
bool operator==(const TypeMeta lhs, const TypeMeta rhs) noexcept;
bool operator!=(const TypeMeta lhs, const TypeMeta rhs) noexcept;
std::ostream& operator<<(std::ostream& stream, TypeMeta typeMeta);
}  // namespace caffe2
namespace c10 {
caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType scalar_type);
ScalarType typeMetaToScalarType(caffe2::TypeMeta dtype);
bool operator==(ScalarType t, caffe2::TypeMeta m) noexcept;
bool operator==(caffe2::TypeMeta m, ScalarType t) noexcept;
bool operator!=(ScalarType t, caffe2::TypeMeta m) noexcept;
bool operator!=(caffe2::TypeMeta m, ScalarType t) noexcept;
}  // namespace c10

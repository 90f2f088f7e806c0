#pragma once
#include <optional>
#include <c10/core/Device.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/typeid.h>

namespace c10 {
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged, NumOptions };
constexpr auto kStrided = Layout::Strided;
constexpr auto kSparse = Layout::Sparse;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d, NumOptions };
std::ostream& operator<<(std::ostream& stream, Layout layout);
std::ostream& operator<<(std::ostream& stream, MemoryFormat memory_format);

struct C10_API TensorOptions {
  TensorOptions();
  TensorOptions(Layout layout);
  template <typename T, typename = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device>>> TensorOptions(T&& device);
  TensorOptions(DeviceType type);
  TensorOptions(caffe2::TypeMeta dtype);
  TensorOptions(ScalarType dtype);
  TensorOptions(MemoryFormat memory_format);
  TensorOptions device(std::optional<Device> device) const noexcept;
  template <typename... Args> TensorOptions device(Args&&... args) const noexcept;
  TensorOptions device_index(DeviceIndex index) const noexcept;
  TensorOptions dtype(std::optional<caffe2::TypeMeta> dtype) const noexcept;
  TensorOptions dtype(std::optional<ScalarType> dtype) const noexcept;
  template <typename T> TensorOptions& dtype();
  TensorOptions layout(std::optional<Layout> layout) const noexcept;
  TensorOptions requires_grad(std::optional<bool> requires_grad) const noexcept;
  TensorOptions pinned_memory(std::optional<bool> pinned_memory) const noexcept;
  TensorOptions memory_format(std::optional<MemoryFormat> memory_format) const noexcept;
  Device device() const noexcept;
  bool has_device() const noexcept;
  std::optional<Device> device_opt() const noexcept;
  DeviceIndex device_index() const noexcept;
  caffe2::TypeMeta dtype() const noexcept;
  bool has_dtype() const noexcept;
  std::optional<caffe2::TypeMeta> dtype_opt() const noexcept;
  Layout layout() const noexcept;
  bool requires_grad() const noexcept;
  bool pinned_memory() const noexcept;
};
TensorOptions dtype(caffe2::TypeMeta dtype);
TensorOptions dtype(ScalarType dtype);
template <typename T> TensorOptions dtype();
TensorOptions layout(Layout layout);
TensorOptions device(Device device);
TensorOptions device_index(int16_t device_index);
TensorOptions requires_grad(bool requires_grad = true);
TensorOptions memory_format(MemoryFormat memory_format);
std::string toString(const TensorOptions& options);
std::ostream& operator<<(std::ostream& stream, const TensorOptions& options);
}  // namespace c10

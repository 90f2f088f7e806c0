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
  TensorOptions() = default;
  TensorOptions(Layout) {}
  template <typename T, typename = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device>>>
  TensorOptions(T&& device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions(caffe2::TypeMeta dtype) : dtype_(dtype.toScalarType()) {}
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(MemoryFormat) {}
  TensorOptions device(std::optional<Device> device) const noexcept {
    TensorOptions out = *this;
    out.device_ = device;
    return out;
  }
  template <typename... Args>
  TensorOptions device(Args&&... args) const noexcept {
    return device(std::optional<Device>(std::in_place, std::forward<Args>(args)...));
  }
  TensorOptions device_index(DeviceIndex index) const noexcept { return device(Device(kCUDA, index)); }
  TensorOptions dtype(std::optional<caffe2::TypeMeta> dtype) const noexcept {
    return this->dtype(dtype ? std::optional<ScalarType>(dtype->toScalarType()) : std::nullopt);
  }
  TensorOptions dtype(std::optional<ScalarType> dtype) const noexcept {
    TensorOptions out = *this;
    out.dtype_ = dtype;
    return out;
  }
  template <typename T>
  TensorOptions& dtype() {
    dtype_ = CppTypeToScalarType<T>::value;
    return *this;
  }
  TensorOptions layout(std::optional<Layout>) const noexcept { return *this; }
  TensorOptions requires_grad(std::optional<bool>) const noexcept { return *this; }
  TensorOptions pinned_memory(std::optional<bool> pinned) const noexcept {
    TensorOptions out = *this;
    out.pinned_ = pinned.value_or(false);
    return out;
  }
  TensorOptions memory_format(std::optional<MemoryFormat>) const noexcept { return *this; }
  Device device() const noexcept { return device_.value_or(Device(kCPU)); }
  bool has_device() const noexcept { return device_.has_value(); }
  std::optional<Device> device_opt() const noexcept { return device_; }
  DeviceIndex device_index() const noexcept { return device().index(); }
  caffe2::TypeMeta dtype() const noexcept { return scalarTypeToTypeMeta(dtype_.value_or(ScalarType::Float)); }
  bool has_dtype() const noexcept { return dtype_.has_value(); }
  std::optional<caffe2::TypeMeta> dtype_opt() const noexcept {
    return dtype_ ? std::optional(scalarTypeToTypeMeta(*dtype_)) : std::nullopt;
  }
  Layout layout() const noexcept { return kStrided; }
  bool requires_grad() const noexcept { return false; }
  bool pinned_memory() const noexcept { return pinned_; }

 private:
  std::optional<Device> device_;
  std::optional<ScalarType> dtype_;
  bool pinned_ = false;
};
inline TensorOptions dtype(caffe2::TypeMeta dtype) { return TensorOptions(dtype); }
inline TensorOptions dtype(ScalarType dtype) { return TensorOptions(dtype); }
template <typename T>
TensorOptions dtype() { return TensorOptions(CppTypeToScalarType<T>::value); }
inline TensorOptions layout(Layout layout) { return TensorOptions(layout); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions device_index(int16_t index) { return TensorOptions().device_index(static_cast<DeviceIndex>(index)); }
inline TensorOptions requires_grad(bool = true) { return TensorOptions(); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions(format); }
std::string toString(const TensorOptions& options);
std::ostream& operator<<(std::ostream& stream, const TensorOptions& options);
}  // namespace c10

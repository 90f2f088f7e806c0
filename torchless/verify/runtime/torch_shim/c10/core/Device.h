#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <c10/util/Exception.h>

namespace c10 {
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, HIP = 6, XPU = 12, MPS = 13, Meta = 14, PrivateUse1 = 20 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr DeviceType kHIP = DeviceType::HIP;
constexpr DeviceType kXPU = DeviceType::XPU;
constexpr DeviceType kMPS = DeviceType::MPS;
constexpr DeviceType kMeta = DeviceType::Meta;
constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;
std::string DeviceTypeName(DeviceType d, bool lower_case = false);
std::ostream& operator<<(std::ostream& stream, DeviceType type);

using DeviceIndex = int8_t;
struct C10_API Device final {
  using Type = DeviceType;
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text);
  bool operator==(const Device& o) const noexcept { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const noexcept { return !(*this == o); }
  void set_index(DeviceIndex index) { index_ = index; }
  DeviceType type() const noexcept { return type_; }
  DeviceIndex index() const noexcept { return index_; }
  bool has_index() const noexcept { return index_ != -1; }
  bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
  bool is_hip() const noexcept { return type_ == DeviceType::HIP; }
  bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  bool is_meta() const noexcept { return type_ == DeviceType::Meta; }
  std::string str() const;

 private:
  DeviceType type_;
  DeviceIndex index_;
};
std::ostream& operator<<(std::ostream& stream, const Device& device);
}  // namespace c10

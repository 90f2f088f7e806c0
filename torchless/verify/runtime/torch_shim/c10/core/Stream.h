#pragma once
#include <c10/core/Device.h>

namespace c10 {
using StreamId = int64_t;
class Stream final {
 public:
  enum Unsafe { UNSAFE };
  Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}
  bool operator==(const Stream& o) const noexcept { return device_ == o.device_ && id_ == o.id_; }
  bool operator!=(const Stream& o) const noexcept { return !(*this == o); }
  Device device() const noexcept { return device_; }
  DeviceType device_type() const noexcept { return device_.type(); }
  DeviceIndex device_index() const noexcept { return device_.index(); }
  StreamId id() const noexcept { return id_; }

 private:
  Device device_;
  StreamId id_;
};
std::ostream& operator<<(std::ostream& stream, const Stream& s);
}  // namespace c10

#pragma once
#include <ATen/torchless_std.h>
#include <hip/hip_runtime.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>

namespace c10 {
using StreamId = int64_t;
struct C10_API Stream final { Device device() const noexcept; DeviceType device_type() const noexcept; DeviceIndex device_index() const noexcept; StreamId id() const noexcept; bool query() const; void synchronize() const; };
}  // namespace c10
namespace c10::hip {
class C10_HIP_API HIPStream {
 public:
  explicit HIPStream(Stream stream);
  bool operator==(const HIPStream& other) const noexcept;
  bool operator!=(const HIPStream& other) const noexcept;
  operator hipStream_t() const;
  operator Stream() const;
  DeviceType device_type() const;
  DeviceIndex device_index() const;
  Device device() const;
  StreamId id() const;
  bool query() const;
  void synchronize() const;
  int priority() const;
  hipStream_t stream() const;
  Stream unwrap() const;
};
HIPStream getStreamFromPool(const bool isHighPriority = false, DeviceIndex device = -1);
HIPStream getStreamFromExternal(hipStream_t ext_stream, DeviceIndex device_index);
HIPStream getDefaultHIPStream(DeviceIndex device_index = -1);
HIPStream getCurrentHIPStream(DeviceIndex device_index = -1);
void setCurrentHIPStream(HIPStream stream);
std::ostream& operator<<(std::ostream& stream, const HIPStream& s);
}  // namespace c10::hip

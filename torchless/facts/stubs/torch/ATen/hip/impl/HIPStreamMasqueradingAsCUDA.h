#pragma once
#include <ATen/torchless_std.h>
#include <c10/hip/HIPStream.h>

namespace c10::hip {
class HIPStreamMasqueradingAsCUDA {
 public:
  explicit HIPStreamMasqueradingAsCUDA(Stream stream);
  explicit HIPStreamMasqueradingAsCUDA(HIPStream stream);
  bool operator==(const HIPStreamMasqueradingAsCUDA& other) const noexcept;
  operator hipStream_t() const;
  operator Stream() const;
  DeviceIndex device_index() const;
  Device device() const;
  StreamId id() const;
  bool query() const;
  void synchronize() const;
  int priority() const;
  hipStream_t stream() const;
  Stream unwrap() const;
  HIPStream hip_stream() const;
};
HIPStreamMasqueradingAsCUDA getStreamFromPoolMasqueradingAsCUDA(const bool isHighPriority = false, DeviceIndex device = -1);
HIPStreamMasqueradingAsCUDA getDefaultHIPStreamMasqueradingAsCUDA(DeviceIndex device_index = -1);
HIPStreamMasqueradingAsCUDA getCurrentHIPStreamMasqueradingAsCUDA(DeviceIndex device_index = -1);
void setCurrentHIPStreamMasqueradingAsCUDA(HIPStreamMasqueradingAsCUDA stream);
}  // namespace c10::hip

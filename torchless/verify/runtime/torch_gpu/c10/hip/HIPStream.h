#pragma once
#include <c10/core/Stream.h>
#include <c10/hip/HIPFunctions.h>
#include <hip/hip_runtime.h>

#include <cstdint>
#include <ostream>

namespace torchless {
hipStream_t current_stream(int device);
hipStream_t exchange_current_stream(int device, hipStream_t stream);
}  // namespace torchless

namespace c10::hip {
// A stream of torch's. Its id is the address of the stream of the runtime, 0 for the null stream.
class HIPStream {
 public:
  enum Unchecked { UNCHECKED };
  explicit HIPStream(Stream stream) : stream_(stream) {}
  HIPStream(Unchecked, Stream stream) : stream_(stream) {}
  HIPStream(hipStream_t stream, DeviceIndex device)
      : stream_(Stream::UNSAFE, Device(DeviceType::CUDA, device), reinterpret_cast<int64_t>(stream)) {}
  bool operator==(const HIPStream& other) const noexcept { return stream_ == other.stream_; }
  bool operator!=(const HIPStream& other) const noexcept { return !(*this == other); }
  operator hipStream_t() const { return stream(); }
  operator Stream() const { return stream_; }
  DeviceType device_type() const { return DeviceType::CUDA; }
  DeviceIndex device_index() const { return stream_.device_index(); }
  Device device() const { return stream_.device(); }
  StreamId id() const { return stream_.id(); }
  bool query() const { return hipStreamQuery(stream()) == hipSuccess; }
  void synchronize() const { C10_HIP_CHECK(hipStreamSynchronize(stream())); }
  int priority() const { return 0; }
  hipStream_t stream() const { return reinterpret_cast<hipStream_t>(stream_.id()); }
  HIPStream hip_stream() const { return *this; }
  Stream unwrap() const { return stream_; }

 private:
  Stream stream_;
};
inline std::ostream& operator<<(std::ostream& out, const HIPStream& s) { return out << s.unwrap(); }

inline HIPStream getCurrentHIPStream(DeviceIndex device = -1) {
  const DeviceIndex index = device < 0 ? current_device() : device;
  return {torchless::current_stream(index), index};
}
inline HIPStream getDefaultHIPStream(DeviceIndex device = -1) {
  return {nullptr, device < 0 ? current_device() : device};
}
inline HIPStream getStreamFromExternal(hipStream_t stream, DeviceIndex device) { return {stream, device}; }
inline HIPStream getStreamFromPool(const bool = false, DeviceIndex device = -1) {
  const DeviceIndex before = current_device(), index = device < 0 ? before : device;
  hipStream_t stream = nullptr;
  set_device(index);
  C10_HIP_CHECK(hipStreamCreate(&stream));
  set_device(before);
  return {stream, index};
}
inline void setCurrentHIPStream(HIPStream stream) {
  torchless::exchange_current_stream(stream.device_index(), stream.stream());
}

using HIPStreamMasqueradingAsCUDA = HIPStream;
inline HIPStream getCurrentHIPStreamMasqueradingAsCUDA(DeviceIndex device = -1) { return getCurrentHIPStream(device); }
inline HIPStream getDefaultHIPStreamMasqueradingAsCUDA(DeviceIndex device = -1) { return getDefaultHIPStream(device); }
inline HIPStream getStreamFromPoolMasqueradingAsCUDA(const bool high = false, DeviceIndex device = -1) {
  return getStreamFromPool(high, device);
}
inline HIPStream getStreamFromExternalMasqueradingAsCUDA(hipStream_t stream, DeviceIndex device) {
  return {stream, device};
}
inline void setCurrentHIPStreamMasqueradingAsCUDA(HIPStream stream) { setCurrentHIPStream(stream); }
}  // namespace c10::hip

#pragma once
#include <c10/hip/HIPStream.h>

#include <optional>

namespace c10::hip {
// A device without an index (any device of the CPU) changes nothing, as in torch.
struct HIPGuard {
  explicit HIPGuard(DeviceIndex index) : original_(hip::current_device()), current_(original_) { set_index(index); }
  explicit HIPGuard(Device device) : HIPGuard(device.index()) {}
  HIPGuard(const HIPGuard&) = delete;
  HIPGuard& operator=(const HIPGuard&) = delete;
  ~HIPGuard() { hip::set_device(original_); }
  void set_device(Device device) { set_index(device.index()); }
  void reset_device(Device device) { set_index(device.index()); }
  void set_index(DeviceIndex index) {
    if (index < 0) return;
    hip::set_device(index);
    current_ = index;
  }
  Device original_device() const { return Device(DeviceType::CUDA, original_); }
  Device current_device() const { return Device(DeviceType::CUDA, current_); }

 private:
  DeviceIndex original_, current_;
};

struct OptionalHIPGuard {
  explicit OptionalHIPGuard() = default;
  explicit OptionalHIPGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  explicit OptionalHIPGuard(std::optional<DeviceIndex> index) {
    if (index) guard_.emplace(*index);
  }
  explicit OptionalHIPGuard(Device device) { guard_.emplace(device); }
  explicit OptionalHIPGuard(DeviceIndex index) { guard_.emplace(index); }
  OptionalHIPGuard(const OptionalHIPGuard&) = delete;
  OptionalHIPGuard& operator=(const OptionalHIPGuard&) = delete;
  void set_device(Device device) { set_index(device.index()); }
  void reset_device(Device device) { set_index(device.index()); }
  void set_index(DeviceIndex index) {
    if (guard_) guard_->set_index(index);
    else guard_.emplace(index);
  }
  std::optional<Device> original_device() const { return guard_ ? std::optional(guard_->original_device()) : std::nullopt; }
  std::optional<Device> current_device() const { return guard_ ? std::optional(guard_->current_device()) : std::nullopt; }
  void reset() { guard_.reset(); }

 private:
  std::optional<HIPGuard> guard_;
};

// Makes the stream's device and the stream current.
struct HIPStreamGuard {
  explicit HIPStreamGuard(Stream stream)
      : device_(stream.device_index()), current_(stream), before_(getCurrentHIPStream(stream.device_index())) {
    setCurrentHIPStream(current_);
  }
  HIPStreamGuard(const HIPStreamGuard&) = delete;
  HIPStreamGuard& operator=(const HIPStreamGuard&) = delete;
  ~HIPStreamGuard() { setCurrentHIPStream(before_); }
  HIPStream original_stream() const { return before_; }
  HIPStream current_stream() const { return current_; }

 private:
  HIPGuard device_;
  HIPStream current_, before_;
};

struct OptionalHIPStreamGuard {
  explicit OptionalHIPStreamGuard() = default;
  explicit OptionalHIPStreamGuard(std::optional<Stream> stream) {
    if (stream) guard_.emplace(*stream);
  }
  void reset() { guard_.reset(); }

 private:
  std::optional<HIPStreamGuard> guard_;
};

using HIPGuardMasqueradingAsCUDA = HIPGuard;
using OptionalHIPGuardMasqueradingAsCUDA = OptionalHIPGuard;
using HIPStreamGuardMasqueradingAsCUDA = HIPStreamGuard;
using OptionalHIPStreamGuardMasqueradingAsCUDA = OptionalHIPStreamGuard;
}  // namespace c10::hip

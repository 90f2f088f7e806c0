#pragma once
#include <ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h>
#include <c10/hip/HIPGuard.h>

namespace c10::hip {
struct HIPGuardMasqueradingAsCUDA { explicit HIPGuardMasqueradingAsCUDA(DeviceIndex device_index); explicit HIPGuardMasqueradingAsCUDA(Device device); ~HIPGuardMasqueradingAsCUDA(); HIPGuardMasqueradingAsCUDA(const HIPGuardMasqueradingAsCUDA&) = delete; void set_device(Device device); void set_index(DeviceIndex device_index); Device original_device() const; Device current_device() const; };
struct OptionalHIPGuardMasqueradingAsCUDA final { explicit OptionalHIPGuardMasqueradingAsCUDA(); explicit OptionalHIPGuardMasqueradingAsCUDA(std::optional<Device> device_opt); explicit OptionalHIPGuardMasqueradingAsCUDA(std::optional<DeviceIndex> device_index_opt); ~OptionalHIPGuardMasqueradingAsCUDA(); OptionalHIPGuardMasqueradingAsCUDA(const OptionalHIPGuardMasqueradingAsCUDA&) = delete; void set_device(Device device); void reset_device(Device device); void set_index(DeviceIndex device_index); std::optional<Device> original_device() const; std::optional<Device> current_device() const; void reset(); };
struct HIPStreamGuardMasqueradingAsCUDA { explicit HIPStreamGuardMasqueradingAsCUDA(Stream stream); ~HIPStreamGuardMasqueradingAsCUDA(); HIPStreamGuardMasqueradingAsCUDA(const HIPStreamGuardMasqueradingAsCUDA&) = delete; void reset_stream(Stream stream); HIPStreamMasqueradingAsCUDA original_stream() const; HIPStreamMasqueradingAsCUDA current_stream() const; };
struct OptionalHIPStreamGuardMasqueradingAsCUDA { explicit OptionalHIPStreamGuardMasqueradingAsCUDA(); explicit OptionalHIPStreamGuardMasqueradingAsCUDA(std::optional<Stream> stream_opt); ~OptionalHIPStreamGuardMasqueradingAsCUDA(); OptionalHIPStreamGuardMasqueradingAsCUDA(const OptionalHIPStreamGuardMasqueradingAsCUDA&) = delete; };
}  // namespace c10::hip

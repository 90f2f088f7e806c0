#pragma once
#include <ATen/hip/HIPContext.h>

namespace at::cuda {
struct HIPEvent {
  HIPEvent() noexcept = default;
  HIPEvent(unsigned flags) noexcept : flags_(flags) {}
  HIPEvent(const HIPEvent&) = delete;
  HIPEvent& operator=(const HIPEvent&) = delete;
  ~HIPEvent() {
    if (event_) (void)hipEventDestroy(event_);
  }
  operator hipEvent_t() const { return event_; }
  bool isCreated() const { return event_ != nullptr; }
  bool query() const { return !event_ || hipEventQuery(event_) == hipSuccess; }
  void record() { record(c10::hip::getCurrentHIPStream()); }
  void record(const c10::hip::HIPStream& stream) {
    if (!event_) C10_HIP_CHECK(hipEventCreateWithFlags(&event_, flags_));
    C10_HIP_CHECK(hipEventRecord(event_, stream));
  }
  void block(const c10::hip::HIPStream& stream) {
    if (event_) C10_HIP_CHECK(hipStreamWaitEvent(stream, event_, 0));
  }
  void synchronize() const {
    if (event_) C10_HIP_CHECK(hipEventSynchronize(event_));
  }

 private:
  unsigned flags_ = hipEventDisableTiming;
  hipEvent_t event_ = nullptr;
};
}  // namespace at::cuda
namespace at::hip {
using at::cuda::HIPEvent;
}

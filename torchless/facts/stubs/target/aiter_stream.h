#pragma once
#include <hip/hip_runtime.h>

namespace aiter {
hipStream_t getCurrentHIPStream();
void setCurrentHIPStream(hipStream_t stream);
}  // namespace aiter

#ifndef AITER_SET_STREAM_PYBIND
#define AITER_SET_STREAM_PYBIND m.def("_set_current_hip_stream", [](int64_t stream) { aiter::setCurrentHIPStream(reinterpret_cast<hipStream_t>(stream)); })
#endif

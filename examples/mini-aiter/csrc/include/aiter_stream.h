// The stream that Python set for this thread of this module.
#pragma once
#include <hip/hip_runtime.h>

namespace aiter {

inline hipStream_t& currentHIPStreamSlot()
{
    thread_local hipStream_t stream = nullptr;
    return stream;
}

inline hipStream_t getCurrentHIPStream() { return currentHIPStreamSlot(); }
inline void setCurrentHIPStream(hipStream_t stream) { currentHIPStreamSlot() = stream; }

} // namespace aiter

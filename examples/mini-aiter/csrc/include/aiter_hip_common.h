// Checks and the device guard. No torch below this header.
#pragma once
#include "aiter_enum.h"
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace aiter_detail {

inline thread_local bool g_aiter_can_throw = false;

template <typename... Parts>
[[noreturn]] inline void check_fail(const char* file, int line, Parts&&... parts)
{
    std::ostringstream text;
    text << file << ":" << line << ": ";
    (text << ... << std::forward<Parts>(parts));
    if(g_aiter_can_throw)
        throw std::runtime_error(text.str());
    std::cerr << text.str() << std::endl;
    std::abort();
}

} // namespace aiter_detail

#define AITER_CHECK(condition, ...)                                                       \
    do                                                                                    \
    {                                                                                     \
        if(!(condition))                                                                  \
            aiter_detail::check_fail(__FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__);      \
    } while(0)

#define HIP_CALL(call)                                                                    \
    do                                                                                    \
    {                                                                                     \
        const hipError_t error = (call);                                                  \
        AITER_CHECK(error == hipSuccess, #call, ": ", hipGetErrorString(error));          \
    } while(0)

class HipDeviceGuard
{
  public:
    explicit HipDeviceGuard(int device)
    {
        HIP_CALL(hipGetDevice(&before_));
        HIP_CALL(hipSetDevice(device));
    }
    ~HipDeviceGuard() { (void)hipSetDevice(before_); }
    HipDeviceGuard(const HipDeviceGuard&)            = delete;
    HipDeviceGuard& operator=(const HipDeviceGuard&) = delete;

  private:
    int before_ = 0;
};

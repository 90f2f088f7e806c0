#pragma once
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <hip/hip_runtime.h>
#include <aiter_enum.h>

#define HIP_CALL(call) do { hipError_t err = call; if (err != hipSuccess) abort(); } while (0)
#define HIP_CALL_LAUNCH(call) HIP_CALL(call)

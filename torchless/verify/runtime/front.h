// What is compiled in advance for every source: the standard library, HIP, and the readers of arguments.
#pragma once
// A precompiled header merges two functions that differ only in being for the host or for the device. The compiler
// makes such pairs of operator new and delete; facts/pch.py has what mends them, except for the one call below, in which
// the operand's type is not known until later. With the cast it is.
#include <type_traits>
#if __has_include(<bits/allocator.h>)
#include <bits/c++allocator.h>
#include <bits/functexcept.h>
#define delete(p) delete(static_cast<void*>(p))
#include <bits/allocator.h>
#undef delete
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "bind.h"
#include "fake_hip.h"
#include "journal.h"
#include "memory.h"

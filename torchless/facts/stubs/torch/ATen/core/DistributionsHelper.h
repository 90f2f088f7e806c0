#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <ATen/core/Generator.h>

namespace at::transformation {
template <typename T> C10_HOST_DEVICE inline T exponential(T val, T lambda) { return static_cast<T>(-1.0) / lambda * std::log(val); }
template <typename T> C10_HOST_DEVICE inline T uniform_real(T val, T from, T to) { return val * (to - from) + from; }
template <typename T> C10_HOST_DEVICE inline T normal(T val, T mean, T std) { return val * std + mean; }
}  // namespace at::transformation

// What the Python interfaces have in common: the fp8 flavour of this build.
#pragma once
#include "aiter_hip_common.h"
#include <torch/all.h>

inline constexpr auto torch_fp8 = at::ScalarType::Float8_e4m3fnuz;

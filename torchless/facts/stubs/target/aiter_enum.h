#pragma once
#include <string>

enum class ActivationType : int { No = -1, Silu = 0, Gelu = 1, Swiglu = 2 };
enum class QuantType : int { No, per_Tensor, per_Token, per_1x32, per_1x128, per_128x128 };

#pragma once

enum class quant_scale_enum { no_scale = 0, pertensor = 1, blockscale = 2, kv_blockscale = 3, mx = 4 };

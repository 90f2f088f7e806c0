#pragma once
#include <string>
#include <ck_tile/host.hpp>

struct smoothquant_traits { std::string data_type; };
struct smoothquant_args { const void *p_x, *p_smscale; void *p_yscale, *p_qy; ck_tile::index_t m, n, x_stride, y_stride; };
float smoothquant(smoothquant_traits traits, smoothquant_args args, const ck_tile::stream_config& config);

#pragma once
#include <string>
#include <ck_tile/host.hpp>

struct moe_smoothquant_traits { std::string in_type, out_type; };
struct moe_smoothquant_args { const void *p_x, *p_smscale, *p_topk_ids; void *p_yscale, *p_qy; ck_tile::index_t tokens, hidden_size, experts, topk, x_stride, y_stride; };
float moe_smoothquant(moe_smoothquant_traits traits, moe_smoothquant_args args, const ck_tile::stream_config& config);

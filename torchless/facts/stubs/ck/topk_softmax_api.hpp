#pragma once
#include <string>
#include <ck_tile/host.hpp>

struct topk_softmax_trait { std::string input_type, weight_type; int experts; std::string activation; };
struct topk_softmax_kargs { const void* p_input; void *p_output, *p_indices; ck_tile::index_t num_rows, num_experts, topk, stride_input, stride_output; };
float topk_softmax(topk_softmax_trait trait, topk_softmax_kargs kargs, ck_tile::stream_config config);

#pragma once
#include <string>
#include <ck_tile/host.hpp>

struct moe_sorting_trait { std::string index_type, weight_type; bool local_expert_masking, clear_workspace_inside_api; int dispatch_policy; };
struct moe_sorting_args { const void *p_topk_ids, *p_weights, *p_local_expert_mask, *p_local_tokens; void *p_sorted_token_ids, *p_sorted_weights, *p_sorted_expert_ids, *p_total_tokens_post_pad, *p_moe_buf, *p_ws; ck_tile::index_t tokens, unit_size, num_experts, topk, moe_buf_interm_dim, moe_buf_elem_bytes; };
float moe_sorting(moe_sorting_trait trait, moe_sorting_args args, ck_tile::stream_config config);
int moe_sorting_get_workspace_size(int tokens, int num_experts, int topk, int dispatch_policy);

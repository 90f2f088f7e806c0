#pragma once
#include <string>
#include <ck_tile/host.hpp>

namespace ck_tile {
struct naive_attention_fwd_traits { std::string q_type, k_type, v_type, o_type, q_layout, k_layout, v_layout, o_layout; int variation; int quant_algo; };
struct naive_attention_fwd_args {
  void *q_ptr, *k_ptr, *v_ptr, *o_ptr, *context_len_ptr, *page_table_ptr, *kscale_ptr, *vscale_ptr;
  float scale_s;
  int hdim, hdim_v, batch_q, batch_kv, batch_ratio_kv, seqlen_q, seqlen_kv, nhead_q, nhead_kv, nhead_ratio_kv, page_size, max_pages_per_seq, max_kv_tokens;
};
float naive_attention_fwd(naive_attention_fwd_traits traits, naive_attention_fwd_args args, stream_config config);
}  // namespace ck_tile

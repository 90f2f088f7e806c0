#pragma once
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <ck_tile/host.hpp>
#include <ck_tile/ops/fmha.hpp>
#include "bias.hpp"
#include "mask.hpp"
#include "quant.hpp"

// Arguments of the forward attention kernels. They are filled by name or from a list; the list is not checked.
#define __TORCHLESS_FROM_LIST(name) \
  name() = default; \
  template <typename A, typename B, typename... Rest> name(A&& a, B&& b, Rest&&... rest) {}
struct __torchless_fmha_args {
  using index_t = ck_tile::index_t;
  const void *q_ptr, *k_ptr, *v_ptr, *bias_ptr, *q_descale_ptr, *k_descale_ptr, *v_descale_ptr, *seqstart_q_ptr, *seqstart_k_ptr, *seqlen_q_ptr, *seqlen_k_ptr, *cu_seqlen_q_ptr, *cu_seqlen_k_ptr, *sink_ptr;
  void *rand_val_ptr, *lse_ptr, *o_ptr, *lse_acc_ptr, *o_acc_ptr, *block_table_ptr;
  const void *cache_batch_idx, *kv_indptr, *kv_page_indices, *kv_last_page_lens;
  bool is_gappy, s_randval;
  index_t batch, seqlen_q, seqlen_k, max_seqlen_q, hdim_q, hdim_v, nhead_q, nhead_k, num_splits, num_total_pages, page_block_size, min_seqlen_q;
  float scale_s, scale_p, scale_o, logits_soft_cap, p_drop;
  index_t stride_q, stride_k, stride_v, stride_bias, stride_randval, stride_o, stride_o_acc;
  index_t nhead_stride_q, nhead_stride_k, nhead_stride_v, nhead_stride_bias, nhead_stride_randval, nhead_stride_lse, nhead_stride_lse_acc, nhead_stride_o, nhead_stride_o_acc;
  index_t batch_stride_q, batch_stride_k, batch_stride_v, batch_stride_bias, batch_stride_randval, batch_stride_lse, batch_stride_lse_acc, batch_stride_o, batch_stride_o_acc, batch_stride_block_table;
  index_t split_stride_lse_acc, split_stride_o_acc, nblock_stride_kv_block_descale, nhead_stride_kv_block_descale;
  index_t window_size_left, window_size_right, sink_size, mask_type;
  std::variant<std::pair<uint64_t, uint64_t>, std::pair<const void*, const void*>> drop_seed_offset;
  ck_tile::BlockAttentionKVCacheMemoryLayoutEnum kv_memory_layout;
  ck_tile::BlockAttentionKVCacheLookupTableEnum kv_lookup_table;
};
struct fmha_fwd_args : __torchless_fmha_args { __TORCHLESS_FROM_LIST(fmha_fwd_args) };
struct fmha_fwd_splitkv_args : __torchless_fmha_args { __TORCHLESS_FROM_LIST(fmha_fwd_splitkv_args) };
struct fmha_batch_prefill_args : __torchless_fmha_args { __TORCHLESS_FROM_LIST(fmha_batch_prefill_args) };
struct fmha_vsa_fwd_args : __torchless_fmha_args { __TORCHLESS_FROM_LIST(fmha_vsa_fwd_args) };
struct fmha_fwd_traits { __TORCHLESS_FROM_LIST(fmha_fwd_traits) };
struct fmha_fwd_splitkv_traits { __TORCHLESS_FROM_LIST(fmha_fwd_splitkv_traits) };
struct fmha_batch_prefill_traits { __TORCHLESS_FROM_LIST(fmha_batch_prefill_traits) };
struct fmha_vsa_fwd_traits { __TORCHLESS_FROM_LIST(fmha_vsa_fwd_traits) };
float fmha_fwd(fmha_fwd_traits traits, fmha_fwd_args args, const ck_tile::stream_config& config);
float fmha_fwd_splitkv(fmha_fwd_splitkv_traits traits, fmha_fwd_splitkv_args args, const ck_tile::stream_config& config);
float fmha_batch_prefill(fmha_batch_prefill_traits traits, fmha_batch_prefill_args args, const ck_tile::stream_config& config);
float fmha_vsa_fwd(fmha_vsa_fwd_traits traits, fmha_vsa_fwd_args args, const ck_tile::stream_config& config);
#undef __TORCHLESS_FROM_LIST

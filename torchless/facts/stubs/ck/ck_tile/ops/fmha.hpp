#pragma once
#include <ck_tile/core.hpp>

namespace ck_tile {
enum class BlockAttentionKVCacheMemoryLayoutEnum { VECTORIZED_LAYOUT = 0, LINEAR_LAYOUT = 1 };
enum class BlockAttentionKVCacheLookupTableEnum { VLLM_BLOCK_TABLE_2D = 0, SGLANG_PAGE_TABLE_1D = 1 };
enum struct GenericAttentionMaskEnum { NO_MASK = 0, MASK_FROM_TOP_LEFT = 1, MASK_FROM_BOTTOM_RIGHT = 2, MASK_GENERIC };
CK_TILE_HOST_DEVICE constexpr tuple<index_t, index_t> make_generic_attention_mask_coordinates_from_lr_window(index_t left, index_t right, index_t sink, index_t y_total, index_t x_total, bool is_top_left) { return {}; }

// Masks and variants as device code sees them.
template <bool IsMasking_ = true> struct SimplifiedGenericAttentionMask {
  static constexpr bool IsMasking = IsMasking_;
  CK_TILE_HOST_DEVICE SimplifiedGenericAttentionMask(index_t y_total, index_t x_total) {}
  CK_TILE_HOST_DEVICE SimplifiedGenericAttentionMask(index_t y, index_t x, index_t sink, index_t y_total, index_t x_total) {}
  CK_TILE_HOST_DEVICE constexpr bool IsOutOfBound(index_t i_y, index_t i_x) const { return false; }
};
template <typename Mask> struct StandardAttentionParams { CK_TILE_HOST_DEVICE StandardAttentionParams(const Mask& m, float scale) : impl_mask(m), sm_scale(scale) {} const Mask& impl_mask; float sm_scale; };
template <typename Mask, bool UseExp2 = false> struct LogitsSoftCapParams { CK_TILE_HOST_DEVICE LogitsSoftCapParams(const Mask& m, float scale, float cap, float cap_rcp) : impl_mask(m), sm_scale(scale), logits_soft_cap(cap), logits_soft_cap_rcp(cap_rcp) {} const Mask& impl_mask; float sm_scale, logits_soft_cap, logits_soft_cap_rcp; };
struct __torchless_variant {
  template <typename Params, typename T> CK_TILE_HOST_DEVICE T QueryTransform(const Params& params, T q) const { return q; }
  template <typename Params, typename T> CK_TILE_HOST_DEVICE T LogitsTransform(const Params& params, T logits, uint32_t batch, uint32_t q_head, uint32_t kv_head) const { return logits; }
  template <typename Params> CK_TILE_HOST_DEVICE bool LogitsMask(const Params& params, uint32_t batch, uint32_t q, uint32_t kv, uint32_t q_head, uint32_t kv_head) const { return true; }
};
struct StandardAttention : __torchless_variant { static constexpr bool use_exp2 = false, use_logits_soft_cap = false; };
template <bool UseExp2 = false> struct LogitsSoftCap : __torchless_variant { static constexpr bool use_exp2 = UseExp2, use_logits_soft_cap = true; };
template <int VariantCode> struct ComposedAttention : __torchless_variant { static constexpr bool use_exp2 = (VariantCode & 4) != 0, use_logits_soft_cap = (VariantCode & 1) != 0; };
}  // namespace ck_tile

#pragma once
#include <ck_tile/ops/flatmm.hpp>

namespace ck_tile {
enum class MoeFlatmmKind { kFFN_gemm1_gate_only, kFFN_gemm1_gate_up, kFFN_gemm2, kFFN_gemm1_split_k };
namespace moe { struct MoeSilu {}; struct Swiglu {}; struct MoeGelu {}; }
template <typename Partitioner, typename Pipeline, typename Epilogue, MoeFlatmmKind Kind, typename FusedActivation = moe::MoeSilu> struct MoeFlatmmKernel : __torchless_kernel {};
template <typename ScaleM = FlatmmScalePointer<-1>, typename ScaleN = FlatmmScalePointer<-1>, typename ExpertBias = FlatmmScalePointer<-1>> struct MoeFlatmmHostArgs : ScaleFlatmmHostArgs<ScaleM, ScaleN> {
  const void* p_sorted_token_ids; const void* p_sorted_expert_ids; const void* p_max_token_id; const void* p_sorted_expert_weights;
  index_t NumTokens, NumExperts, TopK, n_padded_zeros = 0, k_padded_zeros = 0;
  ExpertBias exp_bias;
  MoeFlatmmHostArgs() = default;
  template <typename... Args> MoeFlatmmHostArgs(const void* sorted_token_ids, const void* sorted_weights, const void* sorted_expert_ids, const void* max_token_id, const void* a, const void* b, void* c, Args&&... rest) {}
};
}  // namespace ck_tile

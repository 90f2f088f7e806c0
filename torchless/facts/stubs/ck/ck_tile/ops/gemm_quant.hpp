#pragma once
#include <ck_tile/ops/gemm.hpp>

namespace ck_tile {
enum struct QuantType { AQuantGrouped, BQuantGrouped, ABQuantGrouped, RowColQuant, TensorQuant };
template <typename Shape> struct QuantGroupShape { static constexpr index_t kM = Shape::at(0), kN = Shape::at(1), kK = Shape::at(2); };
template <bool PadM, bool PadN, bool PadK, bool APreshuffleQuant, bool BPreshuffleQuant, bool PreshuffleB, typename ALayout, typename BLayout, typename CLayout, QuantType Quant, typename AQLayout, typename BQLayout, bool TransposeC = false, bool DoubleSmem = false, bool Persistent = false> struct TileGemmQuantTraits {};
template <typename A, typename AQ, typename B, typename BQ, typename Acc, typename Shape, typename Traits, typename AGroup, typename BGroup, bool TransposeC_ = false, typename Compute = void, GemmPipelineScheduler Scheduler = GemmPipelineScheduler::Intrawave, bool HotLoop = true, TailNumber Tail = TailNumber::Full> struct GemmABQuantPipelineProblem { static constexpr bool TransposeC = TransposeC_; };
template <typename Problem, typename Policy = void> struct ABQuantGemmPipelineAgBgCrCompV3 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct ABQuantGemmPipelineAgBgCrEightWaves : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct WPABQuantBPipelineAgBgCrV2 : __torchless_pipeline<Problem> {};
template <typename Partitioner, typename Pipeline, typename Epilogue, QuantType Quant> struct QuantGemmKernel : __torchless_kernel {};
struct QuantGemmHostArgs { const void* a_ptr; const void* b_ptr; const void* aq_ptr; const void* bq_ptr; void* c_ptr; index_t k_batch, M, N, K, QK_A, QK_B, stride_A, stride_B, stride_C, stride_AQ, stride_BQ; };
}  // namespace ck_tile

#pragma once
#include <ck_tile/ops/gemm.hpp>

namespace ck_tile {
template <typename A, typename B, typename Acc, typename Shape, typename Traits, GemmPipelineScheduler Scheduler = GemmPipelineScheduler::Intrawave, bool HotLoop = true, TailNumber Tail = TailNumber::Full, amd_buffer_coherence_enum BMem = amd_buffer_coherence_enum::coherence_default> struct FlatmmPipelineProblem { static constexpr bool TransposeC = Traits::TransposeC; static std::string GetName(); };
template <typename A, typename B, typename Acc, typename Shape, typename Traits, GemmPipelineScheduler Scheduler = GemmPipelineScheduler::Intrawave, bool HotLoop = true, TailNumber Tail = TailNumber::Full, amd_buffer_coherence_enum BMem = amd_buffer_coherence_enum::coherence_default> struct F16xMXF4FlatmmPipelineProblem { static constexpr bool TransposeC = Traits::TransposeC; };
template <typename A, typename B, typename Acc, typename Shape, typename Traits, GemmPipelineScheduler Scheduler = GemmPipelineScheduler::Intrawave, bool HotLoop = true, TailNumber Tail = TailNumber::Full, amd_buffer_coherence_enum BMem = amd_buffer_coherence_enum::coherence_default> struct F8xMXF4FlatmmPipelineProblem { static constexpr bool TransposeC = Traits::TransposeC; };
template <typename Problem, typename Policy = void> struct BaseFlatmmPipelineAGmemBGmemCRegV1 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct FlatmmPipelineAGmemBGmemCRegV1 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct F16xMXF4FlatmmPipelineAGmemBGmemCRegV1 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct F8xMXF4FlatmmPipelineAGmemBGmemCRegV1 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct MoeFlatmmPipelineAGmemBGmemCRegV1 : __torchless_pipeline<Problem> {};
template <typename Partitioner, typename Pipeline, typename Epilogue> struct FlatmmKernel : __torchless_kernel {};
template <typename Partitioner, typename Pipeline, typename Epilogue> struct GroupedFlatmmKernel : __torchless_kernel {};
template <int SharedGranularityMN, int SharedGranularityK = 0> struct FlatmmScalePointer { static constexpr int GranularityMN = SharedGranularityMN; const float* ptr; index_t length = 1; FlatmmScalePointer() = default; CK_TILE_HOST_DEVICE FlatmmScalePointer(const float* p) : ptr(p) {} CK_TILE_HOST_DEVICE FlatmmScalePointer(const float* p, index_t n) : ptr(p), length(n) {} };
struct FlatmmHostArgs { const void* a_ptr; const void* b_ptr; void* e_ptr; index_t k_batch, M, N, K, stride_A, stride_B, stride_C, stride_E; };
template <typename ScaleM = FlatmmScalePointer<-1>, typename ScaleN = FlatmmScalePointer<-1>, index_t NumDTensor = 0> struct ScaleFlatmmHostArgs : FlatmmHostArgs { ScaleM scale_m; ScaleN scale_n; };
template <typename ScaleM = FlatmmScalePointer<-1>, typename ScaleN = FlatmmScalePointer<-1>, index_t NumDTensor = 0> struct GroupedFlatmmHostArgs : ScaleFlatmmHostArgs<ScaleM, ScaleN, NumDTensor> { index_t group_count; index_t* M_indices; };
template <typename ScaleM = FlatmmScalePointer<-1>, typename ScaleN = FlatmmScalePointer<-1>, index_t NumDTensor = 0> struct ContiguousGroupedFlatmmHostArgs : GroupedFlatmmHostArgs<ScaleM, ScaleN, NumDTensor> {};
template <typename ScaleM = FlatmmScalePointer<-1>, typename ScaleN = FlatmmScalePointer<-1>, index_t NumDTensor = 0> struct MaskedGroupedFlatmmHostArgs : GroupedFlatmmHostArgs<ScaleM, ScaleN, NumDTensor> {
  MaskedGroupedFlatmmHostArgs() = default;
  template <typename... Args> MaskedGroupedFlatmmHostArgs(index_t* m_indices, index_t groups, index_t max_m, index_t n, index_t k, const void* a, index_t stride_a, const void* b, index_t stride_b, Args&&... rest) {}
};
}  // namespace ck_tile

#pragma once
#include <iostream>
#include <sstream>
#include <string>
#include <ck_tile/host.hpp>

namespace ck_tile {
enum class GemmPipelineScheduler { Default, Intrawave, Interwave };
enum class TailNumber { Odd, Even, One, Two, Three, Four, Five, Six, Seven, Empty, Full };
inline std::ostream& operator<<(std::ostream& out, TailNumber t) { return out << static_cast<int>(t); }

// Shapes, partitioners, traits, problems and pipelines: known by name and by the kinds of their parameters.
template <typename BlockTile, typename BlockWarps, typename WarpTile, bool PermuteA = false, bool PermuteB = false> struct TileGemmShape { static constexpr index_t kM = BlockTile::at(0), kN = BlockTile::at(1), kK = BlockTile::at(2); static std::string GetName(); };
template <typename Shape> struct __torchless_partitioner { static constexpr index_t MPerBlock = Shape::kM, NPerBlock = Shape::kN, KPerBlock = Shape::kK; static index_t GetLoopNum(index_t k); static dim3 GridSize(index_t m, index_t n); };
template <typename Shape, index_t GroupNum, index_t M01> struct GemmSpatiallyLocalTilePartitioner : __torchless_partitioner<Shape> {};
template <typename Shape> struct GemmTile1DPartitioner : __torchless_partitioner<Shape> {};
template <bool PadM, bool PadN, bool PadK, typename ALayout, typename BLayout, typename CLayout, index_t NumWaveGroups = 1> struct TileGemmTraits {};
template <bool PadM, bool PadN, bool PadK, bool DoubleSmem, typename ALayout, typename BLayout, typename CLayout, bool TransposeC_ = false, bool Sparse = false, bool Persistent = false, index_t NumWaveGroups = 1, bool Preshuffle = false> struct TileGemmUniversalTraits { static constexpr bool TransposeC = TransposeC_; };
template <typename... Ts> struct GemmPipelineProblemBase { static constexpr bool TransposeC = false; static std::string GetName(); };
template <typename... Ts> struct GemmPipelineProblem : GemmPipelineProblemBase<Ts...> {};
template <typename Problem> struct __torchless_pipeline {
  static constexpr index_t PrefetchStages = 2;
  static bool BlockHasHotloop(index_t num_loop);
  static TailNumber GetBlockLoopTailNum(index_t num_loop);
  template <typename Run> static auto TailHandler(const Run& run, bool has_hot_loop, TailNumber tail) { return run(bool_constant<true>{}, integral_constant<TailNumber, TailNumber::Full>{}); }
  static std::string GetName();
};
template <typename Problem, typename Policy = void> struct BaseGemmPipelineAgBgCrCompV3 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct GemmPipelineAgBgCrCompV3 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct BaseWeightPreshufflePipelineAGmemBGmemCRegV2 : __torchless_pipeline<Problem> {};
template <typename Problem, typename Policy = void> struct WeightPreshufflePipelineAGmemBGmemCRegV2 : __torchless_pipeline<Problem> {};

// A kernel of any of them: host arguments in, launch geometry out.
struct __torchless_kernel {
  struct KernelArgs { const void* a_ptr; const void* b_ptr; void* e_ptr; };
  template <typename HostArgs> static KernelArgs MakeKernelArgs(const HostArgs& args) { return {}; }
  template <typename... Args> static dim3 GridSize(const Args&... args) { return {}; }
  static dim3 BlockSize() { return {}; }
  static bool IsSupportedArgument(const KernelArgs& args) { return true; }
  static std::string GetName();
};
template <typename Partitioner, typename Pipeline, typename Epilogue> struct GemmKernel : __torchless_kernel {};
struct GemmHostArgs { const void* a_ptr; const void* b_ptr; void* e_ptr; index_t k_batch, M, N, K, stride_A, stride_B, stride_C, stride_E; };
}  // namespace ck_tile

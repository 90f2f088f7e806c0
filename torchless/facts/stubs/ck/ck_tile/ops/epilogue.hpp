#pragma once
#include <ck_tile/core.hpp>

namespace ck_tile {
template <typename A, typename B, typename Ds, typename Acc, typename O, typename DsLayout, typename ELayout, typename CDElementwise, index_t MPerBlock, index_t NPerBlock, index_t MWave, index_t NWave, index_t MPerXdl, index_t NPerXdl, index_t KPerXdl, bool TransposeC, index_t NumWaveGroups = 1, bool FixedVector = false, index_t VectorC = 1, index_t BlockedXDLN_PerWarp = 1, bool DoubleSmem = false> struct CShuffleEpilogueProblem {};
template <typename Problem, typename Policy = void> struct CShuffleEpilogue {};
template <typename Problem, typename Policy = void> struct DefaultGemm2DEpilogue {};
}  // namespace ck_tile

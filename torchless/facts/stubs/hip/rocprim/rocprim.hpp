#pragma once
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <cstddef>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rocprim {
using half = ::__half;
using bfloat16 = ::hip_bfloat16;
namespace detail {
// A value moved by data-parallel primitives, one 32-bit word after the other.
template <class T, int dpp_ctrl, int row_mask = 0xf, int bank_mask = 0xf, bool bound_ctrl = true> __device__ inline T warp_move_dpp(const T& input) {
  constexpr int words = (sizeof(T) + 3) / 4;
  int w[words] = {};
  __builtin_memcpy(w, &input, sizeof(T));
  for (int i = 0; i < words; ++i) w[i] = __builtin_amdgcn_update_dpp(0, w[i], dpp_ctrl, row_mask, bank_mask, bound_ctrl);
  T out;
  __builtin_memcpy(&out, w, sizeof(T));
  return out;
}
template <class T, int mask> __device__ inline T warp_swizzle(const T& input) {
  constexpr int words = (sizeof(T) + 3) / 4;
  int w[words] = {};
  __builtin_memcpy(w, &input, sizeof(T));
  for (int i = 0; i < words; ++i) w[i] = __builtin_amdgcn_ds_swizzle(w[i], mask);
  T out;
  __builtin_memcpy(&out, w, sizeof(T));
  return out;
}
}  // namespace detail
template <class T> __device__ inline T warp_shuffle(const T& input, const int src_lane, const int width = warpSize) { return __torchless_shfl(input, src_lane, width); }
template <class T> __device__ inline T warp_shuffle_up(const T& input, const unsigned int delta, const int width = warpSize) { return __torchless_shfl_up(input, delta, width); }
template <class T> __device__ inline T warp_shuffle_down(const T& input, const unsigned int delta, const int width = warpSize) { return __torchless_shfl_down(input, delta, width); }
template <class T> __device__ inline T warp_shuffle_xor(const T& input, const int lane_mask, const int width = warpSize) { return __torchless_shfl_xor(input, lane_mask, width); }
template <class T> struct plus { __host__ __device__ constexpr T operator()(const T& a, const T& b) const { return a + b; } };
template <class T> struct maximum { __host__ __device__ constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
template <class T> struct minimum { __host__ __device__ constexpr T operator()(const T& a, const T& b) const { return a < b ? a : b; } };
__device__ inline unsigned int lane_id() { return __lane_id(); }
template <unsigned int BlockSizeX = 0, unsigned int BlockSizeY = 0, unsigned int BlockSizeZ = 0> __device__ inline unsigned int flat_block_thread_id() { return threadIdx.x; }
template <unsigned int BlockSizeX = 0, unsigned int BlockSizeY = 0, unsigned int BlockSizeZ = 0> __device__ inline unsigned int flat_block_id() { return blockIdx.x; }
__device__ inline void syncthreads() { __syncthreads(); }
}  // namespace rocprim

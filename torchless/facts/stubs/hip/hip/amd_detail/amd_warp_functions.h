#pragma once
#include <hip/amd_detail/host_defines.h>

// Lanes of a wave.
#if defined(__GFX9__) || !defined(__HIP_DEVICE_COMPILE__)
static constexpr int warpSize = 64;
#else
static constexpr int warpSize = 32;
#endif
__device__ inline unsigned int __lane_id() { return __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); }
__device__ inline unsigned long long __ballot(int predicate) { return __builtin_amdgcn_uicmp((unsigned int)predicate, 0u, 33); }
__device__ inline unsigned long long __ballot64(int predicate) { return __ballot(predicate); }
__device__ inline unsigned long long __activemask() { return __ballot(1); }
__device__ inline int __any(int predicate) { return __ballot(predicate) != 0; }
__device__ inline int __all(int predicate) { return __ballot(!predicate) == 0; }
template <class M> __device__ inline unsigned long long __ballot_sync(M mask, int predicate) { return __ballot(predicate) & mask; }
template <class M> __device__ inline int __any_sync(M mask, int predicate) { return __any(predicate); }
template <class M> __device__ inline int __all_sync(M mask, int predicate) { return __all(predicate); }

// A value moved between lanes word by word.
template <class T> __device__ inline T __torchless_from_lane(T value, int lane) {
  constexpr int words = (sizeof(T) + 3) / 4;
  int w[words] = {};
  __builtin_memcpy(w, &value, sizeof(T));
  for (int i = 0; i < words; ++i) w[i] = __builtin_amdgcn_ds_bpermute(lane << 2, w[i]);
  __builtin_memcpy(&value, w, sizeof(T));
  return value;
}
template <class T> __device__ inline T __torchless_shfl(T v, int lane, int width) { int self = __lane_id(); return __torchless_from_lane(v, (lane & (width - 1)) + (self & ~(width - 1))); }
template <class T> __device__ inline T __torchless_shfl_up(T v, unsigned int delta, int width) { int self = __lane_id(); int from = self - (int)delta; return __torchless_from_lane(v, from < (self & ~(width - 1)) ? self : from); }
template <class T> __device__ inline T __torchless_shfl_down(T v, unsigned int delta, int width) { int self = __lane_id(); int from = self + (int)delta; return __torchless_from_lane(v, (self & (width - 1)) + (int)delta >= width ? self : from); }
template <class T> __device__ inline T __torchless_shfl_xor(T v, int mask, int width) { int self = __lane_id(); int from = self ^ mask; return __torchless_from_lane(v, from >= ((self + width) & ~(width - 1)) ? self : from); }
#define __TORCHLESS_SHFL(T) \
  __device__ inline T __shfl(T v, int lane, int width = warpSize) { return __torchless_shfl(v, lane, width); } \
  __device__ inline T __shfl_up(T v, unsigned int delta, int width = warpSize) { return __torchless_shfl_up(v, delta, width); } \
  __device__ inline T __shfl_down(T v, unsigned int delta, int width = warpSize) { return __torchless_shfl_down(v, delta, width); } \
  __device__ inline T __shfl_xor(T v, int mask, int width = warpSize) { return __torchless_shfl_xor(v, mask, width); }
__TORCHLESS_SHFL(int)
__TORCHLESS_SHFL(unsigned int)
__TORCHLESS_SHFL(long)
__TORCHLESS_SHFL(unsigned long)
__TORCHLESS_SHFL(long long)
__TORCHLESS_SHFL(unsigned long long)
__TORCHLESS_SHFL(float)
__TORCHLESS_SHFL(double)
template <class M, class T> __device__ inline T __shfl_sync(M mask, T v, int lane, int width = warpSize) { return __shfl(v, lane, width); }
template <class M, class T> __device__ inline T __shfl_up_sync(M mask, T v, unsigned int delta, int width = warpSize) { return __shfl_up(v, delta, width); }
template <class M, class T> __device__ inline T __shfl_down_sync(M mask, T v, unsigned int delta, int width = warpSize) { return __shfl_down(v, delta, width); }
template <class M, class T> __device__ inline T __shfl_xor_sync(M mask, T v, int lanes, int width = warpSize) { return __shfl_xor(v, lanes, width); }

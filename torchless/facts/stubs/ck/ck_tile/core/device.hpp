#pragma once
// The part of CK's core that kernels use directly: vectors in registers, numeric facts, lanes, buffers.
#include <ck_tile/core.hpp>

namespace ck_tile {
// Vectors.
template <typename T, index_t N> struct thread_buffer {
  using value_type = T;
  T data[N];
  CK_TILE_HOST_DEVICE static constexpr auto size() { return N; }
  CK_TILE_HOST_DEVICE constexpr T& operator[](index_t i) { return data[i]; }
  CK_TILE_HOST_DEVICE constexpr const T& operator[](index_t i) const { return data[i]; }
  CK_TILE_HOST_DEVICE constexpr T& operator()(index_t i) { return data[i]; }
  CK_TILE_HOST_DEVICE constexpr T& at(index_t i) { return data[i]; }
  template <index_t I> CK_TILE_HOST_DEVICE constexpr T& operator[](number<I>) { return data[I]; }
  template <index_t I> CK_TILE_HOST_DEVICE constexpr T& operator()(number<I>) { return data[I]; }
  template <typename U> CK_TILE_HOST_DEVICE constexpr auto& get_as() { return reinterpret_cast<thread_buffer<U, sizeof(T) * N / sizeof(U)>&>(*this); }
  template <typename U> CK_TILE_HOST_DEVICE constexpr const auto& get_as() const { return reinterpret_cast<const thread_buffer<U, sizeof(T) * N / sizeof(U)>&>(*this); }
};
template <typename T> struct vector_traits { using scalar_type = T; static constexpr index_t vector_size = 1; };
template <typename T, index_t N> struct vector_traits<T __attribute__((ext_vector_type(N)))> { using scalar_type = T; static constexpr index_t vector_size = N; };
template <typename T, index_t N> struct vector_traits<thread_buffer<T, N>> { using scalar_type = T; static constexpr index_t vector_size = N; };
#define __TORCHLESS_VECTORS(T, name) \
  using name##x2_t = T __attribute__((ext_vector_type(2))); \
  using name##x4_t = T __attribute__((ext_vector_type(4))); \
  using name##x8_t = T __attribute__((ext_vector_type(8))); \
  using name##x16_t = T __attribute__((ext_vector_type(16)));
__TORCHLESS_VECTORS(float, fp32)
__TORCHLESS_VECTORS(_Float16, fp16)
__TORCHLESS_VECTORS(bf16_t, bf16)
__TORCHLESS_VECTORS(int8_t, int8)
__TORCHLESS_VECTORS(int16_t, int16)
__TORCHLESS_VECTORS(int32_t, int32)
__TORCHLESS_VECTORS(fp8_t, fp8)
#undef __TORCHLESS_VECTORS

// Numbers.
enum class fp8_interpretation { E4M3_OCP = 0, E4M3_FNUZ = 1, E5M2_OCP = 2, E5M2_FNUZ = 3 };
template <typename T> struct numeric { CK_TILE_HOST_DEVICE static constexpr T min() { return T{}; } CK_TILE_HOST_DEVICE static constexpr T lowest() { return T{}; } CK_TILE_HOST_DEVICE static constexpr T max() { return T{}; } CK_TILE_HOST_DEVICE static constexpr T infinity() { return T{}; } CK_TILE_HOST_DEVICE static constexpr T zero() { return T{}; } CK_TILE_HOST_DEVICE static constexpr T epsilon() { return T{}; } };
template <typename T> struct numeric_traits { static constexpr int PackedSize = 1; static constexpr fp8_interpretation f8_interpret = fp8_interpretation::E4M3_FNUZ; };
template <typename T> CK_TILE_HOST_DEVICE constexpr T max(T a, T b) { return a < b ? b : a; }
template <typename T> CK_TILE_HOST_DEVICE constexpr T min(T a, T b) { return b < a ? b : a; }
template <typename T> CK_TILE_HOST_DEVICE constexpr T abs(T a) { return a < T(0) ? -a : a; }
CK_TILE_DEVICE float exp(float x) { return __builtin_expf(x); }
CK_TILE_HOST_DEVICE constexpr int32_t next_power_of_two(int32_t x) { return x <= 1 ? x : 1 << (32 - __builtin_clz(x - 1)); }
template <typename... Ts> CK_TILE_HOST_DEVICE constexpr tuple<std::decay_t<Ts>...> make_tuple(Ts&&... values) { return {}; }
template <index_t Begin, index_t End, index_t Step> struct static_for { template <typename F> CK_TILE_HOST_DEVICE constexpr void operator()(F f) const { if constexpr (Begin < End) { f(number<Begin>{}); static_for<Begin + Step, End, Step>{}(f); } } };

// Lanes and barriers.
CK_TILE_DEVICE index_t get_lane_id() { return __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); }
CK_TILE_DEVICE index_t get_warp_id() { return threadIdx.x / get_warp_size(); }
CK_TILE_DEVICE index_t get_thread_id() { return threadIdx.x; }
CK_TILE_DEVICE index_t get_block_id() { return blockIdx.x; }
CK_TILE_DEVICE void block_sync_lds() { __syncthreads(); }
template <typename T> CK_TILE_DEVICE T warp_shuffle(const T& v, uint32_t lane) { return __torchless_shfl(v, (int)lane, 64); }
template <typename T> CK_TILE_DEVICE T warp_shuffle_up(const T& v, uint32_t delta) { return __torchless_shfl_up(v, delta, 64); }
template <typename T> CK_TILE_DEVICE T warp_shuffle_down(const T& v, uint32_t delta) { return __torchless_shfl_down(v, delta, 64); }

// Buffers in memory.
template <address_space_enum Space, typename T, amd_buffer_coherence_enum Coherence> struct buffer_view {
  T* p_data_;
  index_t size_;
  CK_TILE_DEVICE void init_raw() {}
  template <typename X> CK_TILE_DEVICE remove_cvref_t<X> get(index_t i, index_t linear_offset, bool valid) const { return reinterpret_cast<const remove_cvref_t<X>&>(p_data_[i + linear_offset]); }
  template <typename X> CK_TILE_DEVICE void set(index_t i, index_t linear_offset, bool valid, const X& x) { reinterpret_cast<remove_cvref_t<X>&>(const_cast<std::remove_const_t<T>&>(p_data_[i + linear_offset])) = x; }
};
template <address_space_enum Space, amd_buffer_coherence_enum Coherence = amd_buffer_coherence_enum::coherence_default, typename T> CK_TILE_HOST_DEVICE constexpr auto make_buffer_view(T* p, index_t size) { return buffer_view<Space, T, Coherence>{p, size}; }
}  // namespace ck_tile

#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#define CK_TILE_HOST inline __attribute__((host))
#define CK_TILE_DEVICE inline __attribute__((device))
#define CK_TILE_HOST_DEVICE inline __attribute__((host)) __attribute__((device))

// A target that shims the launch part for builds without CK, and still includes CK, gets the shim's.
#if defined(ENABLE_CK) && !ENABLE_CK && __has_include("ck_tile_shim.h")
#include "ck_tile_shim.h"
#else
namespace ck_tile {
using index_t = int32_t;
using long_index_t = int64_t;
template <typename T> constexpr T log2e_v = static_cast<T>(1.4426950408889634);
CK_TILE_HOST_DEVICE constexpr index_t get_warp_size() { return 64; }
struct stream_config { hipStream_t stream_id_ = nullptr; bool time_kernel_ = false; int log_level_ = 0; int cold_niters_ = 3; int nrepeat_ = 10; bool is_gpu_timer_ = true; bool flush_cache_ = false; int rotating_count_ = 1; };
template <typename... Callables> CK_TILE_HOST float launch_kernel(const stream_config& s, Callables&&... callables) { (callables(s), ...); return 0; }
template <typename Preprocess, typename... Callables> CK_TILE_HOST float launch_kernel_time_mask(const stream_config& s, Preprocess preprocess, Callables&&... callables) { preprocess(); (callables(s), ...); return 0; }
inline void flush_icache() {}
}  // namespace ck_tile
#endif

namespace ck_tile {
using int8_t = ::int8_t;
using fp32_t = float;
using fp16_t = _Float16;
using half_t = _Float16;
using bf16_t = __bf16;
using bfloat16_t = __bf16;
using fp8_t = _BitInt(8);
using bf8_t = unsigned _BitInt(8);
struct pk_int4_t { int8_t data; };
struct pk_fp4_t { uint8_t data; };
struct e8m0_t { uint8_t data; };
template <typename T> using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;
template <typename T, T v> struct constant { static constexpr T value = v; using value_type = T; CK_TILE_HOST_DEVICE constexpr operator T() const { return v; } CK_TILE_HOST_DEVICE constexpr T operator()() const { return v; } };
template <typename T, T v> using integral_constant = constant<T, v>;
template <index_t v> using number = constant<index_t, v>;
template <bool b> using bool_constant = constant<bool, b>;
template <index_t... Is> struct sequence { static constexpr index_t size() { return sizeof...(Is); } CK_TILE_HOST_DEVICE static constexpr index_t at(index_t i) { const index_t all[] = {Is..., 0}; return all[i]; } template <index_t I> CK_TILE_HOST_DEVICE static constexpr index_t at(number<I>) { return at(I); } };
template <typename... Ts> struct tuple { CK_TILE_HOST_DEVICE static constexpr index_t size() { return sizeof...(Ts); } template <index_t I> CK_TILE_HOST_DEVICE constexpr std::tuple_element_t<I, std::tuple<Ts...>> at(number<I>) const { return {}; } };
CK_TILE_HOST_DEVICE constexpr auto integer_divide_ceil(auto x, auto y) { return (x + y - 1) / y; }
CK_TILE_HOST_DEVICE constexpr auto integer_least_multiple(auto x, auto y) { return y * ((x + y - 1) / y); }
template <typename Y, typename X> CK_TILE_HOST_DEVICE constexpr Y type_convert(X x) { if constexpr (std::is_constructible_v<Y, X>) return static_cast<Y>(x); else return Y{}; }
template <typename Y, typename X> CK_TILE_HOST_DEVICE constexpr Y bit_cast(const X& x) { return __builtin_bit_cast(Y, x); }
enum class address_space_enum { generic, global, lds, sgpr, constant, vgpr };
enum class memory_operation_enum { set, atomic_add, atomic_max, add };
enum struct amd_buffer_coherence_enum { coherence_default = 0, glc = 1, slc = 2, glc_slc = 3 };
template <typename T, index_t N> using ext_vector_t = T __attribute__((ext_vector_type(N)));

namespace tensor_layout::gemm {
struct BaseTensorLayout {};
struct RowMajor : BaseTensorLayout { static constexpr const char* name = "RowMajor"; };
struct ColumnMajor : BaseTensorLayout { static constexpr const char* name = "ColumnMajor"; };
}  // namespace tensor_layout::gemm
namespace element_wise {
struct PassThrough { template <typename Y, typename X> CK_TILE_HOST_DEVICE constexpr void operator()(Y& y, const X& x) const { y = type_convert<Y>(x); } };
}
}  // namespace ck_tile
#include <ck_tile/core/device.hpp>

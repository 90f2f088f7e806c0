#pragma once
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

struct StreamConfig { hipStream_t stream_id_ = nullptr; bool time_kernel_ = false; int log_level_ = 0; int cold_niters_ = 5; int nrepeat_ = 50; bool flush_cache = false; int rotating_count = 1; };

namespace ck {
using index_t = int32_t;
using long_index_t = int64_t;
using half_t = _Float16;
using bhalf_t = unsigned short;
using int4_t = _BitInt(4);
struct f8_t { unsigned char data; };
struct bf8_t { unsigned char data; };
struct pk_i4_t { int8_t data; };
struct f4_t { unsigned char data; };
struct f4x2_pk_t { uint8_t data; };
struct e8m0_bexp_t { unsigned char data; };
template <typename Y, typename X> __host__ __device__ constexpr Y type_convert(X x) { if constexpr (std::is_constructible_v<Y, X>) return static_cast<Y>(x); else return Y{}; }
using std::is_same_v;

template <typename T, T v> struct integral_constant { static constexpr T value = v; using value_type = T; __host__ __device__ constexpr operator T() const { return v; } __host__ __device__ constexpr T operator()() const { return v; } };
template <index_t N> using Number = integral_constant<index_t, N>;
template <index_t N> using LongNumber = integral_constant<long_index_t, N>;
template <index_t... Is> struct Sequence { static constexpr index_t mSize = sizeof...(Is); static constexpr index_t Size() { return mSize; } __host__ __device__ static constexpr index_t At(index_t i) { const index_t all[] = {Is..., 0}; return all[i]; } __host__ __device__ constexpr index_t operator[](index_t i) const { return At(i); } };
template <typename... Ts> struct Tuple { __host__ __device__ constexpr Tuple() = default; __host__ __device__ static constexpr index_t Size() { return sizeof...(Ts); } };

enum struct BlockGemmPipelineVersion { v1, v2, v3, v4, v5 };
enum struct BlockGemmPipelineScheduler { Intrawave, Interwave };
enum struct LoopScheduler { Default, Interwave };
enum struct PipelineVersion { v1, v2, v4, weight_only };
std::string get_device_name();

namespace tensor_layout::gemm {
struct BaseTensorLayout {};
struct RowMajor : BaseTensorLayout { static constexpr const char* name = "RowMajor"; };
struct ColumnMajor : BaseTensorLayout { static constexpr const char* name = "ColumnMajor"; };
struct MFMA : BaseTensorLayout { static constexpr const char* name = "MFMA"; };
}  // namespace tensor_layout::gemm

namespace tensor_operation::element_wise {
struct PassThrough { template <typename Y, typename X> __host__ __device__ constexpr void operator()(Y& y, const X& x) const { y = type_convert<Y>(x); } };
struct Add { template <typename Y, typename A, typename B> __host__ __device__ constexpr void operator()(Y& y, const A& a, const B& b) const { y = type_convert<Y>(a); } };
struct MultiplyMultiply { template <typename E, typename C, typename D0, typename D1> __host__ __device__ constexpr void operator()(E& e, const C& c, const D0& d0, const D1& d1) const { e = type_convert<E>(c); } };
}  // namespace tensor_operation::element_wise

namespace tensor_operation::device {
enum struct GemmSpecialization { Default, MPadding, NPadding, KPadding, MNPadding, MKPadding, NKPadding, MNKPadding, OPadding, MOPadding, NOPadding, KOPadding, MNOPadding, MKOPadding, NKOPadding, MNKOPadding };

// What all device operations have; a call of MakeArgument is not checked argument by argument.
template <typename Ds> struct __torchless_op {
  struct Argument {};
  struct Invoker { float Run(const Argument& argument, const StreamConfig& config = StreamConfig{}) const; };
  static constexpr index_t NumDTensor = Ds::Size();
  template <typename... Args> static Argument MakeArgument(Args&&... args) { return Argument{}; }
  static Invoker MakeInvoker() { return Invoker{}; }
  static bool IsSupportedArgument(const Argument& argument);
  size_t GetWorkSpaceSize(const Argument* argument) const;
  void SetWorkSpacePointer(Argument* argument, void* workspace, const StreamConfig& config = StreamConfig{}) const;
  void SetKBatch(Argument* argument, int k_batch) const;
  std::string GetTypeString() const;
};

// Their template parameters differ in number and kind only: layouts and data types, the tile, how A, B and C travel, extras.
#define __TORCHLESS_A_OR_B typename, typename, typename, auto, auto, auto, auto
#define __TORCHLESS_TILE auto Spec, auto BlockSize, auto M, auto N, auto K, auto AK1, auto BK1, auto MXdl, auto NXdl, auto MWave, auto NWave
#define __TORCHLESS_SCALED_TILE auto Spec, auto BlockSize, auto ScaleM, auto ScaleN, auto ScaleK, auto M, auto N, auto K, auto AK1, auto BK1, auto MXdl, auto NXdl, auto MWave, auto NWave
#define __TORCHLESS_MX_TILE auto Spec, auto ScaleBlock, auto BlockSize, auto M, auto N, auto K, auto AK1, auto BK1, auto MXdl, auto NXdl, auto MWave, auto NWave
#define __TORCHLESS_C auto, auto, typename, typename
#define __TORCHLESS_PLAIN typename ALayout, typename BLayout, typename DsLayout, typename ELayout, typename A, typename B, typename Ds, typename E, typename Acc, typename CShuffle, typename AOp, typename BOp, typename COp
#define __TORCHLESS_SCALED typename ALayout, typename BLayout, typename DsLayout, typename ELayout, typename A0, typename A1, typename B0, typename B1, typename Ds, typename E, typename Acc, typename CShuffle, typename AOp, typename BOp, typename COp
#define __TORCHLESS_PIPELINE auto Scheduler = BlockGemmPipelineScheduler::Intrawave, auto Version = BlockGemmPipelineVersion::v1
#define __TORCHLESS_COMPUTE typename ComputeA = void, typename ComputeB = ComputeA, typename LdsA = ComputeA, typename LdsB = ComputeB
template <__TORCHLESS_PLAIN, __TORCHLESS_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, __TORCHLESS_COMPUTE> struct DeviceBatchedGemmMultiD_Xdl_CShuffle_V3 : __torchless_op<Ds> {};
template <__TORCHLESS_PLAIN, __TORCHLESS_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, __TORCHLESS_COMPUTE> struct DeviceGemmMultiD_Xdl_CShuffle_V3 : __torchless_op<Ds> {};
template <__TORCHLESS_PLAIN, __TORCHLESS_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, __TORCHLESS_COMPUTE> struct DeviceGemmMultiD_Xdl_CShuffle_V3_BPreshuffle : __torchless_op<Ds> {};
template <__TORCHLESS_SCALED, __TORCHLESS_SCALED_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, __TORCHLESS_COMPUTE> struct DeviceGemmMultiD_ABScale_Xdl_CShuffle_V3 : __torchless_op<Ds> {};
template <__TORCHLESS_SCALED, __TORCHLESS_SCALED_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, __TORCHLESS_COMPUTE> struct DeviceGemmMultiD_BlockScale_Xdl_CShuffle_V3_BPreshuffle : __torchless_op<Ds> {};
template <typename ALayout, typename BLayout, typename CLayout, typename A, typename AScale, typename B, typename BScale, typename C, typename Acc, typename CShuffle, typename AOp, typename BOp, typename COp, __TORCHLESS_MX_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, auto, auto, typename, auto, __TORCHLESS_PIPELINE, __TORCHLESS_COMPUTE> struct DeviceGemmMX_Xdl_CShuffleV3 : __torchless_op<Tuple<>> {};
template <__TORCHLESS_PLAIN, __TORCHLESS_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, auto Activation = 0, auto NSwizzle = false, auto IsInputGemm = true, auto MulRoutedWeight = true, auto PerTokenQuant = true, typename Index = index_t, __TORCHLESS_COMPUTE> struct DeviceMoeGemm : __torchless_op<Ds> {};
template <__TORCHLESS_SCALED, __TORCHLESS_MX_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, auto Activation = 0, auto NSwizzle = false, auto IsInputGemm = true, auto MulRoutedWeight = true, typename Index = index_t, __TORCHLESS_COMPUTE> struct DeviceMoeGemmMXBPreShuffle : __torchless_op<Ds> {};
template <__TORCHLESS_SCALED, __TORCHLESS_MX_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, auto Activation = 0, auto NSwizzle = false, auto IsInputGemm = true, auto MulRoutedWeight = true, typename Index = index_t, __TORCHLESS_COMPUTE> struct DeviceMoeGemmMXBNS : __torchless_op<Ds> {};
template <__TORCHLESS_SCALED, __TORCHLESS_SCALED_TILE, __TORCHLESS_A_OR_B, __TORCHLESS_A_OR_B, __TORCHLESS_C, __TORCHLESS_PIPELINE, auto Activation = 0, auto NSwizzle = false, auto IsInputGemm = true, auto IsSplitK = false, auto MulRoutedWeight = true, typename Index = index_t, __TORCHLESS_COMPUTE, bool NonTemporal = false> struct DeviceMoeGemmBlockScale : __torchless_op<Ds> {};
#undef __TORCHLESS_A_OR_B
#undef __TORCHLESS_TILE
#undef __TORCHLESS_SCALED_TILE
#undef __TORCHLESS_MX_TILE
#undef __TORCHLESS_C
#undef __TORCHLESS_PLAIN
#undef __TORCHLESS_SCALED
#undef __TORCHLESS_PIPELINE
#undef __TORCHLESS_COMPUTE
}  // namespace tensor_operation::device
}  // namespace ck

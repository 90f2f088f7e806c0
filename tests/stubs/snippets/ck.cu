// What generated GEMMs and wrappers use of Composable Kernel.
#include "ck/ck.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_gemm_multiple_d_xdl_cshuffle_v3.hpp"
#include "ck/library/utility/check_err.hpp"
#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/flatmm.hpp"
#include "ck_tile/ops/gemm_quant.hpp"
#include "ck_tile/ops/moe_flatmm.hpp"
#include "ck_tile/ops/fmha/block/variants.hpp"
#include "fmha_fwd.hpp"
#include "fmha_bwd.hpp"
#include "moe_sorting_api.hpp"
#include "layernorm2d_fwd.hpp"

//# ck
template <ck::index_t... Is> using S = ck::Sequence<Is...>;
using Row = ck::tensor_layout::gemm::RowMajor; using Pass = ck::tensor_operation::element_wise::PassThrough; using Ds = ck::Tuple<float, float>;
using Op = ck::tensor_operation::device::DeviceGemmMultiD_Xdl_CShuffle_V3<Row, Row, Ds, Row, ck::f8_t, ck::f8_t, Ds, ck::half_t, float, float, Pass, Pass, Pass, ck::tensor_operation::device::GemmSpecialization::Default, 256, 128, 128, 64, 16, 16, 32, 32, 2, 2, S<4, 64, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 16, 16, 0, S<4, 64, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 16, 16, 0, 1, 1, S<1, 32, 1, 8>, S<8, 8, 1>, ck::BlockGemmPipelineScheduler::Intrawave, ck::BlockGemmPipelineVersion::v3, ck::f8_t>;
static_assert(Op::NumDTensor == 2 && S<4, 64, 1>{}.At(1) == 64 && Ds::Size() == 2);
float f(hipStream_t s) { Op op; auto i = op.MakeInvoker(); auto a = op.MakeArgument(nullptr, std::array<const void*, 2>{}, 1, Pass{}); return op.IsSupportedArgument(a) ? i.Run(a, StreamConfig{s}) : ck::type_convert<float>(1); }

//# ck_tile
using Shape = ck_tile::TileGemmShape<ck_tile::sequence<128, 64, 32>, ck_tile::sequence<1, 4, 1>, ck_tile::sequence<16, 16, 64>>;
using Tiles = ck_tile::GemmSpatiallyLocalTilePartitioner<Shape, 8, 4>; static_assert(Tiles::MPerBlock == 128 && ck_tile::integer_divide_ceil(5, 2) == 3);
void f(hipStream_t s) {
  ck_tile::stream_config c{s}; using K = ck_tile::FlatmmKernel<Tiles, int, int>; ck_tile::FlatmmHostArgs a{}; auto kargs = K::MakeKernelArgs(a);
  ck_tile::launch_kernel(c, ck_tile::make_kernel<1>(K{}, K::GridSize(kargs), K::BlockSize(), 0, kargs)); ck_tile::launch_kernel(c, [=](const ck_tile::stream_config&) {});
  ck_tile::QuantGemmHostArgs q; q.M = q.K = 3; ck_tile::bf16_t b{}; ck_tile::fp8_t v{}; float l = ck_tile::log2e_v<float> * ck_tile::get_warp_size();
}

//# entry points
float f(const void* p, hipStream_t s, std::string type) {
  auto mask = mask_info::decode("b:1,0", 3, 4); fmha_fwd_args args; args.q_ptr = p; args.mask_type = static_cast<ck_tile::index_t>(mask.type); args.drop_seed_offset = std::make_pair(uint64_t(1), uint64_t(2));
  moe_sorting({type, "fp32", true, true, 0}, {p, p, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, 2, 3, 4, 5, 6}, {s});
  return fmha_fwd(fmha_fwd_traits{1, 2, type, true, mask.type, bias_enum::alibi, quant_scale_enum::pertensor}, args, ck_tile::stream_config{s});
}

//# ck_tile on the device
template <typename T, int N> __global__ void k(T* out, const T* in, int n) {
  using vec = ck_tile::thread_buffer<T, N>;
  auto buffer = ck_tile::make_buffer_view<ck_tile::address_space_enum::global>(in, n);
  buffer.init_raw();
  vec v = buffer.template get<vec>(threadIdx.x * N, 0, true);
  float m = ck_tile::type_convert<float>(ck_tile::numeric<T>::max());
  for (int i = 0; i < N; ++i) out[i] = ck_tile::type_convert<T>(ck_tile::type_convert<float>(v[i]) * ck_tile::max(m, 1.f));
  auto& halves = v.template get_as<_Float16>(); out[0] = ck_tile::bit_cast<T>(halves[0]);
  ck_tile::static_for<0, N, 1>{}([&](auto i) { out[i.value] = v[i]; });
  out[1] = ck_tile::warp_shuffle(out[0], ck_tile::get_lane_id() % ck_tile::get_warp_size());
}
static_assert(ck_tile::vector_traits<ck_tile::fp32x4_t>::vector_size == 4 && ck_tile::vector_traits<ck_tile::thread_buffer<float, 3>>::vector_size == 3);
void launch(_Float16* p, hipStream_t s) { k<_Float16, 4><<<1, 64, 0, s>>>(p, p, 3); }

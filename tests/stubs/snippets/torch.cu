// Every member, function and macro of torch that launchers use.
#include <torch/all.h>
#include <torch/extension.h>
#include <torch/torch.h>
#include <torch/library.h>
#include <ATen/ATen.h>
#include <ATen/hip/HIPContext.h>
#include <ATen/hip/HIPEvent.h>
#include <ATen/hip/HIPGeneratorImpl.h>
#include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>
#include <ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h>
#include <ATen/autocast_mode.h>
#include <c10/hip/HIPFunctions.h>
#include <c10/macros/Export.h>
#include <c10/util/irange.h>
template <typename A, typename B> constexpr bool same = std::is_same_v<A, B>;

//# sizes
static_assert(same<decltype(std::declval<at::Tensor>().size(0)), int64_t>);
static_assert(same<decltype(std::declval<at::Tensor>().sizes()), c10::IntArrayRef>);
int64_t f(const torch::Tensor& t) {
  std::vector<int64_t> v = t.sizes().vec(); bool b = t.sizes() == torch::IntArrayRef({1, 2}); b = t.sizes() == v;
  return t.size(0) + t.stride(-1) + t.sizes()[0] + t.strides().back() + t.dim() + t.numel() + t.nbytes() + t.storage_offset() + t.element_size() + t.itemsize() + t.ndimension();
}

//# pointers
static_assert(same<decltype(std::declval<at::Tensor>().data_ptr<float>()), float*>);
static_assert(same<decltype(std::declval<at::Tensor>().const_data_ptr<int>()), const int*>);
void f(at::Tensor& t) {
  void* p = t.data_ptr(); const void* q = t.const_data_ptr(); p = t.mutable_data_ptr(); at::Half* h = t.data_ptr<at::Half>(); c10::BFloat16* b = t.mutable_data_ptr<c10::BFloat16>();
  auto* f8 = reinterpret_cast<c10::Float8_e4m3fnuz*>(t.data_ptr()); const bool* m = t.const_data_ptr<bool>();
}

//# types of elements
static_assert(same<decltype(std::declval<at::Tensor>().scalar_type()), c10::ScalarType>);
static_assert(same<decltype(std::declval<at::Tensor>().dtype()), caffe2::TypeMeta>);
bool f(const at::Tensor& t, at::ScalarType s) {
  switch (t.scalar_type()) { case at::ScalarType::Half: case torch::kBFloat16: case at::kFloat8_e4m3fn: return true; default: break; }
  std::string n = std::string(c10::toString(t.scalar_type())) + std::string(c10::toString(t.dtype())) + toString(s); caffe2::TypeMeta m = t.dtype();
  return t.dtype() == torch::kFloat32 || t.scalar_type() != at::kHalf || t.dtype() == m || m.toScalarType() == s || t.dtype() != at::ScalarType::Byte || torch::elementSize(s) == 2 || m.itemsize() == 1;
}

//# constants
constexpr at::ScalarType all[] = {torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64, torch::kFloat16, torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kFloat, torch::kHalf, torch::kDouble, torch::kBool, torch::kByte, torch::kChar, torch::kShort, torch::kInt, torch::kLong, torch::kUInt16, torch::kUInt32, torch::kUInt64, at::kFloat8_e5m2, at::kFloat8_e5m2fnuz, torch::kFloat8_e4m3fnuz, c10::kFloat8_e8m0fnu, torch::kFloat4_e2m1fn_x2};
static_assert(torch::kInt32 == c10::ScalarType::Int && torch::kCUDA == c10::DeviceType::CUDA);
static_assert(same<torch::Dtype, c10::ScalarType> && same<torch::Tensor, at::Tensor> && same<torch::IntArrayRef, c10::ArrayRef<int64_t>> && same<c10::optional<int>, std::optional<int>>);

//# places
int f(const at::Tensor& t) {
  auto d = t.device(); bool b = t.is_cuda() && t.is_contiguous() && t.defined() && d == at::kCPU && d.type() == torch::kCUDA && d.is_cuda() && t.is_cpu() && t.layout() == at::kStrided;
  std::optional<at::Device> o = device_of(t); TORCH_CHECK(t.device() == o.value(), t.device(), d.str()); return d.index() + t.get_device() + t.device().index() + b;
}

//# making tensors
void f(const at::Tensor& t, int64_t n) {
  auto o = torch::TensorOptions().dtype(torch::kFloat32).device(t.device()); auto p = t.options().dtype(at::kInt).device(torch::kCUDA, 0).requires_grad(false);
  at::Tensor a = torch::empty({n, 2}, o), b = torch::zeros(t.sizes(), t.options()), c = at::empty_like(t), d = torch::zeros_like(t), e = torch::full({1}, 2.0f, o), g = torch::empty({n}, torch::kInt32);
  a = torch::empty({n}, torch::dtype(torch::kInt32).device(torch::kCUDA)); b = torch::from_blob(t.data_ptr(), {n}, o); c = torch::arange(n, p); d = torch::tensor({1, 2, 3}, o); e = torch::empty_strided({n, n}, {n, 1}, o);
  g = torch::randn({n}, o); g = torch::empty({0}, t.options()); g = torch::ones({n}); g = t.new_empty({n}); g = torch::cat({a, b}, 0); g = torch::empty({n}, torch::TensorOptions().dtype(t.dtype()).device(device_of(t)));
}

//# tensor methods
at::Tensor f(at::Tensor t, const at::Tensor& u) {
  t = t.contiguous().view({-1, 2}).reshape({2, -1}).transpose(0, 1).unsqueeze(0).squeeze().flatten(0, 1).to(torch::kFloat32).to(u.device()).clone().t().permute({1, 0}).expand({2, 2}).detach().cpu().cuda();
  t.zero_(); t.fill_(1.0); t.copy_(u); t.index_put_({at::indexing::Slice(0, 3), 1}, 2); t = t.select(0, 1).narrow(0, 1, 2).slice(0, 1, 2).sum(-1, true).softmax(-1); t += u; t = t * 2 + u / 3 - t;
  t = t[0][1]; t = t.index({torch::indexing::Slice(), 0}); t = u.view(torch::kInt8); std::vector<at::Tensor> parts = t.chunk(2, 0); t = std::get<0>(t.max(0)); t = t.max();
  int64_t i = t.item<int64_t>(); float x = t.item().toFloat() + t.item<float>(); bool b = t.is_same(u) && t.is_contiguous(); std::cout << t << t.sizes() << t.scalar_type() << t.dtype() << t.device();
  return t;
}

//# functions
void f(at::Tensor a, const at::Tensor& b) { at::sum_out(a, b, {0}); a = at::reshape(b, {1}); a = torch::tanh(b); a = torch::sigmoid(b); a = at::matmul(a, b); torch::manual_seed(1); a = torch::nn::functional::softmax(b, -1); a = torch::where(a, b, b); a = torch::stack({a, b}); }

//# optional tensors
const void* f(std::optional<torch::Tensor> a, const std::optional<at::Tensor>& b, c10::optional<at::Tensor> c, std::optional<const at::Tensor>& d) {
  at::Tensor t = a.value_or(torch::Tensor()); if (b.has_value() && c) t = *c; const at::hip::OptionalHIPGuardMasqueradingAsCUDA guard(device_of(b));
  a = std::nullopt; return d.has_value() ? d.value().data_ptr() : a->data_ptr();
}

//# streams and guards
static_assert(same<decltype(at::hip::getCurrentHIPStream()), c10::hip::HIPStream> && same<at::hip::OptionalHIPGuardMasqueradingAsCUDA, c10::hip::OptionalHIPGuardMasqueradingAsCUDA>);
void f(const at::Tensor& t) {
  const at::hip::OptionalHIPGuardMasqueradingAsCUDA a(device_of(t)); at::hip::OptionalHIPGuardMasqueradingAsCUDA b(t.device()); at::hip::HIPGuardMasqueradingAsCUDA c(t.get_device()); c10::hip::HIPGuard d(0); at::DeviceGuard e(t.device());
  const hipStream_t s = at::hip::getCurrentHIPStream(); hipStream_t q = at::hip::getCurrentHIPStream(t.get_device()).stream(); auto m = at::hip::getCurrentHIPStreamMasqueradingAsCUDA(); q = m; q = torch::hip::getCurrentHIPStream(); q = c10::hip::getCurrentHIPStream().stream();
  at::hip::HIPStreamGuardMasqueradingAsCUDA g(m); auto* p = at::cuda::getCurrentDeviceProperties(); int n = p->multiProcessorCount + c10::hip::device_count() + c10::hip::current_device(); torch::cuda::synchronize(); at::cuda::HIPEvent ev; ev.record();
}

//# generators
void f(std::optional<at::Generator> gen) {
  auto* g = at::get_generator_or_default<at::CUDAGeneratorImpl>(gen, at::cuda::detail::getDefaultCUDAGenerator()); std::lock_guard<std::mutex> lock(g->mutex_); at::PhiloxCudaState s = g->philox_cuda_state(4); uint64_t a = s.seed_.val; auto [seed, offset] = at::cuda::philox::unpack(s);
}

//# checks
void f(const at::Tensor& t, int n) {
  TORCH_CHECK(t.dim() == 2); TORCH_CHECK(n > 0, "n is ", n, " of ", t.scalar_type(), t.dtype(), t.sizes(), std::string("x")); TORCH_CHECK(n);
  TORCH_CHECK(n > 1, "no semicolon")
  if (n) TORCH_CHECK(n > 2, "a");
  TORCH_INTERNAL_ASSERT(n, "b"); TORCH_CHECK_EQ(n, 3); TORCH_CHECK_NOT_IMPLEMENTED(false, "c"); TORCH_WARN("d", n); C10_HIP_CHECK(hipGetLastError()); C10_HIP_KERNEL_LAUNCH_CHECK();
  try { AT_ERROR("bad ", n); } catch (const c10::Error& e) { std::cerr << e.what(); }
}

//# dispatch
template <typename T> void launch(T* p) { static_assert(same<T, float> || same<T, double> || same<T, c10::Half> || same<T, c10::BFloat16> || std::is_integral_v<T>); }
void f(at::Tensor& t) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, t.scalar_type(), "f", [&] { launch<scalar_t>(t.data_ptr<scalar_t>()); });
  AT_DISPATCH_SWITCH(t.scalar_type(), "g", AT_DISPATCH_CASE(at::ScalarType::Float, [&] { launch(t.data_ptr<scalar_t>()); }) AT_DISPATCH_CASE(at::ScalarType::Half, [&] { launch(t.data_ptr<scalar_t>()); }));
  AT_DISPATCH_INTEGRAL_TYPES(t.scalar_type(), "h", [&] { scalar_t x = 0; launch(&x); }); AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, t.scalar_type(), "i", [&] { launch(t.data_ptr<scalar_t>()); });
  int n = AT_DISPATCH_FLOATING_TYPES(t.scalar_type(), "j", [&] { return (int)sizeof(scalar_t); }); AT_DISPATCH_REDUCED_FLOATING_TYPES(t.scalar_type(), "k", [&] { launch(t.data_ptr<scalar_t>()); }); AT_DISPATCH_INDEX_TYPES(t.scalar_type(), "l", [&] { index_t i = 0; });
}

//# element types on the device
__global__ void k(c10::Half* h, c10::BFloat16* b, c10::Float8_e4m3fn* f, at::Float8_e5m2* g, at::Half* a) {
  h[0] = h[1] * h[2] + static_cast<c10::Half>(1.f); b[0] = b[1] + b[2]; f[0] = c10::Float8_e4m3fn(float(h[0])); float x = h[0]; x += b[0]; h[1] = x; g[0] = x; __half q = h[2]; a[0] = q; b[0] += x; h[0] = float(h[0]) > float(h[1]) ? h[0] : h[1];
}
template <typename T> struct map; template <> struct map<c10::Half> { using type = __half; }; template <> struct map<c10::BFloat16> { using type = hip_bfloat16; };
static_assert(sizeof(c10::Half) == 2 && sizeof(c10::Float8_e4m3fnuz) == 1 && std::numeric_limits<c10::Half>::is_specialized);

//# ranges
int f(const at::Tensor& t) { int n = 0; for (auto i : c10::irange(t.dim())) n += t.size(i); for (int64_t s : t.sizes()) n += s; return n; }

//# binding
void run(torch::Tensor& a, std::optional<torch::Tensor> b, double c) {}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run, py::arg("a"), py::arg("b") = std::nullopt, py::arg("c") = 1.0); py::gil_scoped_release r; }

//# library
void run(at::Tensor& a) {}
TORCH_LIBRARY(ours, m) { m.def("run(Tensor a) -> ()"); m.impl("run", c10::DispatchKey::CUDA, &run); m.impl("run", torch::dispatch(c10::DispatchKey::CUDA, run)); }
TORCH_LIBRARY_FRAGMENT(ours2, m) { m.def("run", run); }
TORCH_LIBRARY_IMPL(ours, CUDA, m) { m.impl("run", &run); }

//# sizes, as sizeof tells them
static_assert(sizeof(caffe2::TypeMeta) == 2 && sizeof(c10::Device) == 2 && sizeof(at::ScalarType) == 1);
uint32_t f(const at::Tensor& x) { constexpr uint32_t wrong = 16 / sizeof(x.dtype()); static_assert(wrong == 8); return wrong; }

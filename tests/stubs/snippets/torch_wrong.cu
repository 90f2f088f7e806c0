// Each of these must be an error.
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

//# a member that tensors lack
int f(const at::Tensor& t) { return t.device_id; }

//# a check of what cannot be printed
struct S {}; void f(int n) { TORCH_CHECK(n, "a", S{}); }

//# an enumerator that is not there
auto f() { return at::ScalarType::Float16; }

//# a type compared with a string
bool f(const at::Tensor& t) { return t.dtype() == "float"; }

//# a dispatch whose body does not fit
void f(at::Tensor& t) { AT_DISPATCH_FLOATING_TYPES(t.scalar_type(), "f", [&] { scalar_t::none x; }); }

//# a binding to nothing
void f(pybind11::module_& m) { m.def("f", &g); }

// What a migrated file includes, where the checkout has none of it.
#include <aiter_dispatch.h>
#include <aiter_stream.h>
#include <aiter_tensor.h>

//# tensors
int64_t f(const aiter_tensor_t& t, std::initializer_list<int> l) {
  AITER_CHECK(t.dim() == 2); AITER_CHECK(t.dtype() == AITER_DTYPE_bf16, "got ", AiterDtype_to_str(t.dtype()), t.numel());
  const HipDeviceGuard device_guard(t.device_id);
  const hipStream_t stream = aiter::getCurrentHIPStream();
  auto* p = static_cast<__half*>(t.data_ptr()); HIP_CALL(hipMemsetAsync(p, 0, t.numel() * t.element_size(), stream));
  return t.size(-1) + t.stride(0) + t.is_contiguous() + t.is_gpu();
}

//# dispatch
template <typename T> void launch(void* p) { static_assert(sizeof(T) <= 8); }
void f(const aiter_tensor_t& t, int vec) {
  VLLM_DISPATCH_FLOATING_TYPES_rmTorch(t.dtype(), "f", [&] { launch<scalar_t>(t.data_ptr()); });
  AITER_DISPATCH_FLOATING16_TYPES_rmTorch(t.dtype(), "g", [&] { launch<scalar_t>(t.data_ptr()); });
  AITER_DISPATCH_CASE_VEC_SIZE_rmTorch(vec, launch<char[VEC_SIZE > 8 ? 8 : VEC_SIZE]>(t.data_ptr());)
}

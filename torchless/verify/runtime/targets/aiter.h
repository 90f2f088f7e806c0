// aiter_tensor_t as Python hands it over with develop=True, and the stream setter of its module.
// What is refused here is what aiter/utility/dtypes.py refuses: more than 8 dimensions, dtypes that AiterDtype lacks.
#pragma once
#include "../bind.h"
#include "../fake_hip.h"
#include <aiter_tensor.h>

#if __has_include(<aiter_stream.h>)
#include <aiter_stream.h>
#endif

namespace torchless {

inline AiterDtype aiter_dtype_of(const std::string& dtype) {
  // Each architecture has one flavour of e4m3; the other one has no AiterDtype there.
  const std::string& arch = architecture();
  const char* fp8 = arch == "gfx942" ? "float8_e4m3fnuz" : arch == "gfx950" || arch.rfind("gfx12", 0) == 0 ? "float8_e4m3fn" : "";
  if (dtype == fp8) return AITER_DTYPE_fp8;
  if (dtype == "float8_e8m0fnu") return AITER_DTYPE_fp8_e8m0;
  if (dtype == "float16") return AITER_DTYPE_fp16;
  if (dtype == "bfloat16") return AITER_DTYPE_bf16;
  if (dtype == "float32") return AITER_DTYPE_fp32;
  if (dtype == "float4_e2m1fn_x2") return AITER_DTYPE_fp4x2;
  if (dtype == "uint32") return AITER_DTYPE_u32;
  if (dtype == "int32") return AITER_DTYPE_i32;
  if (dtype == "int16") return AITER_DTYPE_i16;
  if (dtype == "int8") return AITER_DTYPE_i8;
  if (dtype == "uint8") return AITER_DTYPE_u8;
  if (dtype == "int64") return AITER_DTYPE_i64;
  if (dtype == "uint64") return AITER_DTYPE_u64;
  throw ConversionError{"Unsupported dtype: torch." + dtype};
}

inline aiter_tensor_t aiter_tensor_of(const TensorSpec& spec) {
  if (spec.sizes.size() > 8)
    throw ConversionError{"aiter_tensor_t supports at most 8 dims, got " + std::to_string(spec.sizes.size())};
  aiter_tensor_t t{};
  t.dtype_ = aiter_dtype_of(spec.dtype);
  t.ptr = memory_of(spec);
  t.numel_ = static_cast<size_t>(count_of(spec));
  t.ndim = static_cast<int>(spec.sizes.size());
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    t.shape[i] = spec.sizes[i];
    t.strides[i] = spec.strides[i];
  }
  t.device_id = spec.device;
  return t;
}

template <>
struct Reader<aiter_tensor_t> {
  static constexpr const char* kind = "tensor";
  static aiter_tensor_t read(const Argument& a) { return aiter_tensor_of(a.tensors.at(0)); }
};
template <>
struct Reader<std::vector<aiter_tensor_t>> {
  static constexpr const char* kind = "tensors";
  static std::vector<aiter_tensor_t> read(const Argument& a) {
    std::vector<aiter_tensor_t> all;
    for (const TensorSpec& spec : a.tensors) all.push_back(aiter_tensor_of(spec));
    return all;
  }
};
template <>
struct Reader<AiterDtype> {
  static constexpr const char* kind = "dtype";
  static AiterDtype read(const Argument& a) { return aiter_dtype_of(a.text); }
};

#if __has_include(<aiter_stream.h>)
namespace {
[[maybe_unused]] const bool aiter_stream_hook =
    (on_stream([](hipStream_t stream) { aiter::setCurrentHIPStream(stream); }), true);
}
#endif

}  // namespace torchless

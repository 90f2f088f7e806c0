#pragma once
// A checkout from before this header came lacks all that came with it: what is below goes on top of its own headers.
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <aiter_hip_common.h>

typedef enum { AITER_DTYPE_fp8, AITER_DTYPE_fp8_e8m0, AITER_DTYPE_fp16, AITER_DTYPE_bf16, AITER_DTYPE_fp32, AITER_DTYPE_i4x2, AITER_DTYPE_fp4x2, AITER_DTYPE_u32, AITER_DTYPE_i32, AITER_DTYPE_i16, AITER_DTYPE_i8, AITER_DTYPE_u8, AITER_DTYPE_i64, AITER_DTYPE_u64 } AiterDtype;
size_t AiterDtype_element_size(AiterDtype dtype);
std::string AiterDtype_to_str(int dtype);

namespace aiter_detail { inline thread_local bool g_aiter_can_throw = false; }
namespace aiter_detail { template <typename... Args> [[noreturn]] inline void check_fail(const char* file, int line, const Args&... args) { std::ostringstream text; text << file << line; (text << ... << args); throw std::runtime_error(text.str()); } }
#define AITER_CHECK(x, ...) do { if (!(x)) { ::aiter_detail::check_fail(__FILE__, __LINE__ __VA_OPT__(,) __VA_ARGS__); } } while (0)

struct aiter_tensor_t {
  void* ptr;
  size_t numel_;
  int ndim;
  int64_t shape[8];
  int64_t strides[8];
  AiterDtype dtype_;
  int device_id;
  int64_t size(int i) const { return shape[i < 0 ? ndim + i : i]; }
  int64_t stride(int i) const { return strides[i < 0 ? ndim + i : i]; }
  void* data_ptr() const { return ptr; }
  size_t numel() const { return numel_; }
  int dim() const { return ndim; }
  AiterDtype dtype() const { return dtype_; }
  size_t element_size() const;
  bool is_gpu() const { return device_id >= 0; }
  bool is_cpu() const { return device_id == -1; }
  bool is_contiguous() const;
};
class HipDeviceGuard { public: explicit HipDeviceGuard(int device_id); ~HipDeviceGuard() noexcept; HipDeviceGuard(const HipDeviceGuard&) = delete; HipDeviceGuard& operator=(const HipDeviceGuard&) = delete; };

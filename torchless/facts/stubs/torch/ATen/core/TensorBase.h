#pragma once
#include <c10/core/TensorOptions.h>

namespace at {
class Tensor;
class TORCH_API TensorBase {
 public:
  TensorBase() = default;
  TensorBase(const TensorBase&) = default;
  TensorBase(TensorBase&&) noexcept = default;
  TensorBase& operator=(const TensorBase&) & = default;
  TensorBase& operator=(TensorBase&&) & noexcept = default;
  ~TensorBase() noexcept {}
  bool defined() const;
  void reset();
  size_t use_count() const noexcept;
  bool is_same(const TensorBase& other) const noexcept;
  std::string toString() const;
  int64_t dim() const;
  int64_t ndimension() const;
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  c10::IntArrayRef sizes() const;
  c10::IntArrayRef strides() const;
  int64_t numel() const;
  size_t nbytes() const;
  size_t itemsize() const;
  int64_t element_size() const;
  int64_t storage_offset() const;
  bool has_storage() const;
  bool is_contiguous(c10::MemoryFormat memory_format = c10::MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  TensorBase contiguous(c10::MemoryFormat memory_format = c10::MemoryFormat::Contiguous) const;
  c10::ScalarType scalar_type() const;
  caffe2::TypeMeta dtype() const;
  c10::Device device() const;
  c10::DeviceIndex get_device() const;
  c10::Layout layout() const;
  c10::TensorOptions options() const;
  bool is_alias_of(const TensorBase& other) const;
  bool is_complex() const;
  bool is_floating_point() const;
  bool is_signed() const;
  bool is_cpu() const;
  bool is_cuda() const;
  bool is_hip() const;
  bool is_meta() const;
  bool is_sparse() const;
  bool is_quantized() const;
  bool is_pinned(std::optional<c10::Device> device = std::nullopt) const;
  bool is_view() const;
  bool is_inference() const;
  bool requires_grad() const;
  const TensorBase& set_requires_grad(bool requires_grad) const;
  void* data_ptr() const;
  const void* const_data_ptr() const;
  void* mutable_data_ptr() const;
  template <typename T> T* data_ptr() const;
  template <typename T> const T* const_data_ptr() const;
  template <typename T> T* mutable_data_ptr() const;
};
c10::DeviceIndex get_device(const TensorBase& self);
}  // namespace at

#pragma once
#include <memory>
#include <vector>
#include <c10/core/TensorOptions.h>

namespace torchless {
// The memory behind tensors that are views of each other.
struct Storage {
  char* base = nullptr;
  size_t bytes = 0;
  std::function<void(void*)> release;
  ~Storage() {
    if (release) release(base);
  }
};
struct TensorState {
  std::shared_ptr<Storage> storage;
  int64_t offset = 0;  // elements
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  c10::Device device = c10::kCPU;
};
}  // namespace torchless

namespace at {
class Tensor;
class TORCH_API TensorBase {
 public:
  TensorBase() = default;
  explicit TensorBase(std::shared_ptr<torchless::TensorState> state) : state_(std::move(state)) {}
  TensorBase(const TensorBase&) = default;
  TensorBase(TensorBase&&) noexcept = default;
  TensorBase& operator=(const TensorBase&) & = default;
  TensorBase& operator=(TensorBase&&) & noexcept = default;
  ~TensorBase() noexcept {}
  torchless::TensorState& state() const;  // raises for an undefined tensor
  bool defined() const { return state_ != nullptr; }
  void reset() { state_.reset(); }
  size_t use_count() const noexcept { return static_cast<size_t>(state_.use_count()); }
  bool is_same(const TensorBase& other) const noexcept { return state_ == other.state_; }
  std::string toString() const;
  int64_t dim() const { return static_cast<int64_t>(state().sizes.size()); }
  int64_t ndimension() const { return dim(); }
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  c10::IntArrayRef sizes() const { return state().sizes; }
  c10::IntArrayRef strides() const { return state().strides; }
  int64_t numel() const;
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  size_t itemsize() const { return c10::elementSize(state().dtype); }
  int64_t element_size() const { return static_cast<int64_t>(itemsize()); }
  int64_t storage_offset() const { return state().offset; }
  bool has_storage() const { return defined(); }
  bool is_contiguous(c10::MemoryFormat memory_format = c10::MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  TensorBase contiguous(c10::MemoryFormat memory_format = c10::MemoryFormat::Contiguous) const;
  c10::ScalarType scalar_type() const { return state().dtype; }
  caffe2::TypeMeta dtype() const { return c10::scalarTypeToTypeMeta(state().dtype); }
  c10::Device device() const { return state().device; }
  c10::DeviceIndex get_device() const { return device().index(); }
  c10::Layout layout() const { return c10::kStrided; }
  c10::TensorOptions options() const { return c10::TensorOptions(dtype()).device(std::optional(device())); }
  bool is_alias_of(const TensorBase& other) const { return state().storage == other.state().storage; }
  bool is_complex() const { return c10::isComplexType(scalar_type()); }
  bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
  bool is_signed() const { return c10::isSignedType(scalar_type()); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_hip() const { return device().is_hip(); }
  bool is_meta() const { return false; }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_pinned(std::optional<c10::Device> = std::nullopt) const { return false; }
  bool is_view() const { return false; }
  bool is_inference() const { return false; }
  bool requires_grad() const { return false; }
  const TensorBase& set_requires_grad(bool) const { return *this; }
  void* data_ptr() const;
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <typename T>
  T* data_ptr() const {
    return static_cast<T*>(checked(c10::CppTypeToScalarType<std::remove_const_t<T>>::value));
  }
  template <typename T>
  const T* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  template <typename T>
  T* mutable_data_ptr() const { return data_ptr<T>(); }

 private:
  void* checked(c10::ScalarType wanted) const;  // the pointer, if elements are of this kind
  std::shared_ptr<torchless::TensorState> state_;
};
inline c10::DeviceIndex get_device(const TensorBase& self) { return self.get_device(); }
}  // namespace at

#pragma once
#include <functional>
#include <ATen/core/Generator.h>
#include <ATen/core/TensorBody.h>

namespace at {
// Making tensors.
Tensor empty(c10::IntArrayRef size, c10::TensorOptions options = {}, std::optional<c10::MemoryFormat> memory_format = std::nullopt);
Tensor empty_like(const Tensor& self, c10::TensorOptions options = {}, std::optional<c10::MemoryFormat> memory_format = std::nullopt);
Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, c10::TensorOptions options = {});
Tensor zeros(c10::IntArrayRef size, c10::TensorOptions options = {});
Tensor zeros_like(const Tensor& self, c10::TensorOptions options = {}, std::optional<c10::MemoryFormat> memory_format = std::nullopt);
Tensor ones(c10::IntArrayRef size, c10::TensorOptions options = {});
Tensor ones_like(const Tensor& self, c10::TensorOptions options = {}, std::optional<c10::MemoryFormat> memory_format = std::nullopt);
Tensor full(c10::IntArrayRef size, const c10::Scalar& fill_value, c10::TensorOptions options = {});
Tensor full_like(const Tensor& self, const c10::Scalar& fill_value, c10::TensorOptions options = {});
Tensor rand(c10::IntArrayRef size, c10::TensorOptions options = {});
Tensor randn(c10::IntArrayRef size, c10::TensorOptions options = {});
Tensor randint(int64_t high, c10::IntArrayRef size, c10::TensorOptions options = {});
Tensor randint(int64_t low, int64_t high, c10::IntArrayRef size, c10::TensorOptions options = {});
Tensor arange(const c10::Scalar& end, c10::TensorOptions options = {});
Tensor arange(const c10::Scalar& start, const c10::Scalar& end, c10::TensorOptions options = {});
Tensor arange(const c10::Scalar& start, const c10::Scalar& end, const c10::Scalar& step, c10::TensorOptions options = {});
Tensor eye(int64_t n, c10::TensorOptions options = {});
Tensor scalar_tensor(const c10::Scalar& s, c10::TensorOptions options = {});
template <typename T> Tensor tensor(c10::ArrayRef<T> values, const c10::TensorOptions& options = {});
template <typename T> Tensor tensor(std::initializer_list<T> values, const c10::TensorOptions& options = {});
template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>> Tensor tensor(T value, const c10::TensorOptions& options = {});
Tensor from_blob(void* data, c10::IntArrayRef sizes, const c10::TensorOptions& options = {});
Tensor from_blob(void* data, c10::IntArrayRef sizes, c10::IntArrayRef strides, const c10::TensorOptions& options = {});
Tensor from_blob(void* data, c10::IntArrayRef sizes, const std::function<void(void*)>& deleter, const c10::TensorOptions& options = {});
// Working with them.
Tensor cat(TensorList tensors, int64_t dim = 0);
Tensor stack(TensorList tensors, int64_t dim = 0);
Tensor reshape(const Tensor& self, c10::IntArrayRef shape);
Tensor view_as_real(const Tensor& self);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor clone(const Tensor& self, std::optional<c10::MemoryFormat> memory_format = std::nullopt);
Tensor add(const Tensor& self, const Tensor& other, const c10::Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Tensor& other, const c10::Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, const Tensor& other);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor exp(const Tensor& self);
Tensor log(const Tensor& self);
Tensor sqrt(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor silu(const Tensor& self);
Tensor gelu(const Tensor& self, std::string_view approximate = "none");
Tensor relu(const Tensor& self);
Tensor abs(const Tensor& self);
Tensor clamp(const Tensor& self, const std::optional<c10::Scalar>& min, const std::optional<c10::Scalar>& max = std::nullopt);
Tensor softmax(const Tensor& self, int64_t dim, std::optional<c10::ScalarType> dtype = std::nullopt);
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
Tensor sum(const Tensor& self, std::optional<c10::ScalarType> dtype = std::nullopt);
Tensor sum(const Tensor& self, c10::OptionalIntArrayRef dim, bool keepdim = false, std::optional<c10::ScalarType> dtype = std::nullopt);
Tensor& sum_out(Tensor& out, const Tensor& self, c10::OptionalIntArrayRef dim, bool keepdim = false, std::optional<c10::ScalarType> dtype = std::nullopt);
Tensor mean(const Tensor& self, std::optional<c10::ScalarType> dtype = std::nullopt);
Tensor cumsum(const Tensor& self, int64_t dim, std::optional<c10::ScalarType> dtype = std::nullopt);
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor nonzero(const Tensor& self);
bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false);
bool equal(const Tensor& self, const Tensor& other);
void manual_seed(uint64_t seed);
}  // namespace at

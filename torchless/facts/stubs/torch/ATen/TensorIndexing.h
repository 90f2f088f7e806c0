#pragma once
#include <ATen/core/TensorBody.h>

namespace at::indexing {
enum class EllipsisIndexType { Ellipsis };
constexpr EllipsisIndexType Ellipsis = EllipsisIndexType::Ellipsis;
constexpr std::nullopt_t None = std::nullopt;
struct TORCH_API Slice final { Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt, std::optional<int64_t> step = std::nullopt); };
struct TORCH_API TensorIndex final {
  TensorIndex(std::nullopt_t);
  TensorIndex(EllipsisIndexType);
  TensorIndex(const char* str);
  TensorIndex(int64_t integer);
  TensorIndex(int integer);
  TensorIndex(bool boolean);
  TensorIndex(Slice slice);
  TensorIndex(Tensor tensor);
};
}  // namespace at::indexing

// Checked by clang++ as well.
#include <torch/extension.h>

int64_t f(const at::Tensor& t) {
  TORCH_CHECK(t.dim() == 1, "one dimension, not ", t.dim());
  return t.size(0);
}

#pragma once
#include <mutex>
#include <ATen/core/TensorBase.h>

namespace c10 {
struct C10_API GeneratorImpl {
  virtual ~GeneratorImpl();
  virtual void set_current_seed(uint64_t seed);
  virtual uint64_t current_seed() const;
  virtual uint64_t seed();
  Device device() const;
  std::mutex mutex_;
};
}  // namespace c10
namespace at {
struct TORCH_API Generator {
  Generator() = default;
  explicit Generator(c10::GeneratorImpl* impl);
  bool defined() const;
  void set_current_seed(uint64_t seed);
  uint64_t current_seed() const;
  std::mutex& mutex();
  c10::Device device() const;
  c10::GeneratorImpl* unsafeGetGeneratorImpl() const;
  template <typename T> T* get() const;
  Tensor get_state() const;
  void set_state(const Tensor& new_state);
};
template <typename T> T* get_generator_or_default(const std::optional<Generator>& gen, const Generator& default_gen);
template <typename T> T* check_generator(std::optional<Generator> gen);
}  // namespace at

#pragma once
#include <ATen/ATen.h>

namespace c10 {
enum class DispatchKey : uint16_t { Undefined, CPU, CUDA, HIP, Meta, XPU, Autograd, CompositeImplicitAutograd, CompositeExplicitAutograd };
}
namespace torch {
class TORCH_API CppFunction final { public: template <typename F> CppFunction(F* f) {} };
class TORCH_API Library final {
 public:
  enum Kind { DEF, IMPL, FRAGMENT };
  Library(Kind kind, std::string ns, std::optional<c10::DispatchKey> k, const char* file, uint32_t line);
  Library& def(const char* schema) &;
  template <typename F> Library& def(const char* schema, F&& f) & { return *this; }
  template <typename F> Library& impl(const char* name, F&& f) & { return *this; }
  template <typename F> Library& impl(const char* name, c10::DispatchKey key, F&& f) & { return *this; }
};
namespace detail {
class TorchLibraryInit final { public: using InitFn = void(Library&); TorchLibraryInit(Library::Kind kind, InitFn* fn, const char* ns, std::optional<c10::DispatchKey> k, const char* file, uint32_t line); };
}
template <class F> inline CppFunction dispatch(c10::DispatchKey key, F&& f) { return CppFunction(f); }
}  // namespace torch
#define TORCH_LIBRARY(ns, m) \
  static void TORCH_LIBRARY_init_##ns(torch::Library&); \
  static const torch::detail::TorchLibraryInit TORCH_LIBRARY_static_init_##ns(torch::Library::DEF, &TORCH_LIBRARY_init_##ns, #ns, std::nullopt, __FILE__, __LINE__); \
  void TORCH_LIBRARY_init_##ns(torch::Library& m)
#define __TORCHLESS_FRAGMENT(ns, m, uid) \
  static void C10_CONCATENATE(TORCH_LIBRARY_FRAGMENT_init_##ns##_, uid)(torch::Library&); \
  static const torch::detail::TorchLibraryInit C10_CONCATENATE(TORCH_LIBRARY_FRAGMENT_static_init_##ns##_, uid)(torch::Library::FRAGMENT, &C10_CONCATENATE(TORCH_LIBRARY_FRAGMENT_init_##ns##_, uid), #ns, std::nullopt, __FILE__, __LINE__); \
  void C10_CONCATENATE(TORCH_LIBRARY_FRAGMENT_init_##ns##_, uid)(torch::Library& m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) __TORCHLESS_FRAGMENT(ns, m, C10_UID)
#define __TORCHLESS_IMPL(ns, k, m, uid) \
  static void C10_CONCATENATE(TORCH_LIBRARY_IMPL_init_##ns##_##k##_, uid)(torch::Library&); \
  static const torch::detail::TorchLibraryInit C10_CONCATENATE(TORCH_LIBRARY_IMPL_static_init_##ns##_##k##_, uid)(torch::Library::IMPL, &C10_CONCATENATE(TORCH_LIBRARY_IMPL_init_##ns##_##k##_, uid), #ns, c10::DispatchKey::k, __FILE__, __LINE__); \
  void C10_CONCATENATE(TORCH_LIBRARY_IMPL_init_##ns##_##k##_, uid)(torch::Library& m)
#define TORCH_LIBRARY_IMPL(ns, k, m) __TORCHLESS_IMPL(ns, k, m, C10_UID)

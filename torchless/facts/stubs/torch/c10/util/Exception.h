#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>
#include <c10/macros/Macros.h>

namespace c10 {
template <typename... Args> inline std::string str(const Args&... args) { std::ostringstream text; (text << ... << args); return text.str(); }
class C10_API Error : public std::exception {
 public:
  Error(std::string msg, std::string backtrace = "", const void* caller = nullptr);
  const char* what() const noexcept override;
  const std::string& msg() const;
};
class C10_API IndexError : public Error { using Error::Error; };
class C10_API ValueError : public Error { using Error::Error; };
class C10_API TypeError : public Error { using Error::Error; };
class C10_API NotImplementedError : public Error { using Error::Error; };
namespace detail {
[[noreturn]] void torchCheckFail(const char* func, const char* file, uint32_t line, const std::string& msg);
[[noreturn]] void torchCheckFail(const char* func, const char* file, uint32_t line, const char* msg);
void warn(const char* func, const char* file, uint32_t line, const std::string& msg);
template <typename... Args> inline std::string torchCheckMsgImpl(const char*, const Args&... args) { return ::c10::str(args...); }
}  // namespace detail
}  // namespace c10

// A bare if, as in torch: a missing semicolon after it goes unnoticed, and so it must here.
#define __TORCHLESS_CHECK(cond, ...) if (C10_UNLIKELY_OR_CONST(!(cond))) { ::c10::detail::torchCheckFail(__func__, __FILE__, static_cast<uint32_t>(__LINE__), ::c10::detail::torchCheckMsgImpl("" __VA_OPT__(,) __VA_ARGS__)); }
#define TORCH_CHECK(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_CHECK_WITH(error, cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...) __TORCHLESS_CHECK(cond, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) while (false) TORCH_INTERNAL_ASSERT(cond, __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_NOTNULL(p) (p)
#define AT_ASSERT(...) do { TORCH_INTERNAL_ASSERT(__VA_ARGS__); } while (false)
#define AT_ASSERTM(cond, ...) do { TORCH_INTERNAL_ASSERT(cond, __VA_ARGS__); } while (false)
#define AT_ERROR(...) do { ::c10::detail::torchCheckFail(__func__, __FILE__, static_cast<uint32_t>(__LINE__), ::c10::str(__VA_ARGS__)); } while (false)
#define TORCH_WARN(...) ::c10::detail::warn(__func__, __FILE__, static_cast<uint32_t>(__LINE__), ::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) TORCH_WARN(__VA_ARGS__)
#define C10_THROW_ERROR(kind, msg) throw ::c10::kind(msg)

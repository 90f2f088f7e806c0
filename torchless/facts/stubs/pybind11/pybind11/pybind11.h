#pragma once
#include <Python.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <forward_list>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace pybind11 {
class object;
class str;
class iterator;
enum class return_value_policy : uint8_t { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal };

// Python objects. Items, attributes and calls give plain objects back.
class handle {
 public:
  handle() = default;
  handle(PyObject* ptr) : m_ptr(ptr) {}
  PyObject* ptr() const { return m_ptr; }
  const handle& inc_ref() const;
  const handle& dec_ref() const;
  object attr(const char* name) const;
  object attr(handle name) const;
  object operator[](const char* key) const;
  object operator[](handle key) const;
  object operator[](size_t index) const;
  template <typename... Args> object operator()(Args&&... args) const;
  template <typename T> T cast() const;
  explicit operator bool() const { return m_ptr != nullptr; }
  bool is_none() const;
  bool is(const handle& other) const;
  bool equal(const handle& other) const;
  bool contains(const char* key) const;
  iterator begin() const;
  iterator end() const;
  class str doc() const;
 private:
  PyObject* m_ptr = nullptr;
};
class object : public handle { public: object() = default; object(handle h, bool is_borrowed); template <typename T> object& operator=(T&& value); template <typename T> T cast() const; handle release(); };
class iterator : public object { public: handle operator*() const; iterator& operator++(); friend bool operator==(const iterator&, const iterator&); friend bool operator!=(const iterator&, const iterator&); };
class none : public object { public: none(); };
class str : public object { public: str(const char* s = ""); str(const std::string& s); explicit str(handle h); operator std::string() const; template <typename... Args> str format(Args&&... args) const; };
class bytes : public object { public: bytes(const char* s = ""); bytes(const char* s, size_t n); bytes(const std::string& s); operator std::string() const; };
class bool_ : public object { public: bool_(bool v); operator bool() const; };
class int_ : public object { public: int_(long long v = 0); operator long long() const; };
class float_ : public object { public: float_(double v = 0); operator double() const; };
class tuple : public object { public: explicit tuple(size_t n = 0); size_t size() const; bool empty() const; };
class list : public object { public: explicit list(size_t n = 0); list(handle h); size_t size() const; bool empty() const; template <typename T> void append(T&& value) const; };
class dict : public object { public: dict(); template <typename... Args> explicit dict(Args&&... args); size_t size() const; bool empty() const; };
class set : public object { public: set(); size_t size() const; template <typename T> bool add(T&& value) const; };
class args : public tuple { public: using tuple::tuple; };
class kwargs : public dict { public: using dict::dict; };
class function : public object { public: using object::object; };
class capsule : public object { public: capsule(const void* value, void (*destructor)(void*)); template <typename T = void> T* get_pointer() const; };
class buffer : public object { public: using object::object; };
class type : public object { public: static handle of(handle h); template <typename T> static handle of(); };
template <typename T> object cast(T&& value, return_value_policy policy = return_value_policy::automatic_reference, handle parent = handle());
template <typename T> T cast(const handle& h);
template <typename T> bool isinstance(handle h);
template <typename T> T reinterpret_borrow(handle h);
template <typename T> T reinterpret_steal(handle h);
template <typename... Args> tuple make_tuple(Args&&... args);
template <typename... Args> void print(Args&&... args);
bool hasattr(handle obj, const char* name);
object getattr(handle obj, const char* name);
object eval(const str& expr, object global = object(), object local = object());
void exec(const str& code, object global = object(), object local = object());
dict globals();

// Extras of a definition.
struct arg_v;
struct arg { constexpr explicit arg(const char* name = nullptr) : name(name) {} template <typename T> arg_v operator=(T&& value) const; arg& noconvert(bool flag = true); arg& none(bool flag = true); const char* name; };
struct arg_v : arg { arg_v(const arg& a) : arg(a) {} object value; arg_v& noconvert(bool flag = true); };
struct kw_only {};
struct pos_only {};
struct dynamic_attr {};
struct buffer_protocol {};
struct arithmetic {};
struct module_local { module_local(bool local = true) {} };
struct doc { const char* value; constexpr explicit doc(const char* value) : value(value) {} };
struct name { const char* value; constexpr explicit name(const char* value) : value(value) {} };
struct scope { handle value; explicit scope(const handle& s) : value(s) {} };
struct sibling { handle value; explicit sibling(const handle& s) : value(s) {} };
template <typename... Ts> struct call_guard {};
template <size_t Nurse, size_t Patient> struct keep_alive {};
template <typename T> inline arg_v arg::operator=(T&& value) const { static_assert(!std::is_void_v<T>); return arg_v(*this); }
namespace literals { constexpr arg operator""_a(const char* name, size_t) { return arg(name); } str operator""_s(const char* s, size_t n); }
template <typename... Args> struct init_factory {};
template <typename... Args> inline init_factory<Args...> init() { return {}; }
template <typename Func> inline init_factory<Func> init(Func&& f) { return {}; }
template <typename... Args> struct overload_cast_impl { template <typename R> constexpr auto operator()(R (*f)(Args...)) const noexcept { return f; } template <typename R, typename C> constexpr auto operator()(R (C::*f)(Args...)) const noexcept { return f; } };
template <typename... Args> constexpr overload_cast_impl<Args...> overload_cast{};
template <typename T, typename U> inline void implicitly_convertible() { static_assert(std::is_class_v<T> || std::is_enum_v<T> || std::is_arithmetic_v<T>); }

// Definitions.
class module_ : public object {
 public:
  explicit module_(const char* name, const char* doc = nullptr);
  template <typename Func, typename... Extra> module_& def(const char* name, Func&& f, const Extra&... extra) { return *this; }
  module_ def_submodule(const char* name, const char* doc = nullptr);
  static module_ import(const char* name);
  void reload();
  void add_object(const char* name, handle obj, bool overwrite = false);
  using module_def = PyModuleDef;
  static module_ create_extension_module(const char* name, const char* doc, module_def* def);
};
using module = module_;
template <typename T, typename... Options> class class_ : public object {
 public:
  template <typename... Extra> class_(handle scope, const char* name, const Extra&... extra) {}
  template <typename Func, typename... Extra> class_& def(const char* name, Func&& f, const Extra&... extra) { return *this; }
  template <typename Func, typename... Extra> class_& def_static(const char* name, Func f, const Extra&... extra) { return *this; }
  template <typename... Args, typename... Extra> class_& def(const init_factory<Args...>& init, const Extra&... extra) { return *this; }
  template <typename C, typename D, typename... Extra> class_& def_readwrite(const char* name, D C::*pm, const Extra&... extra) { return *this; }
  template <typename C, typename D, typename... Extra> class_& def_readonly(const char* name, const D C::*pm, const Extra&... extra) { return *this; }
  template <typename Getter, typename Setter, typename... Extra> class_& def_property(const char* name, const Getter& get, const Setter& set, const Extra&... extra) { return *this; }
  template <typename Getter, typename... Extra> class_& def_property_readonly(const char* name, const Getter& get, const Extra&... extra) { return *this; }
  template <typename Getter, typename... Extra> class_& def_property_readonly_static(const char* name, const Getter& get, const Extra&... extra) { return *this; }
};
template <typename T> class enum_ : public class_<T> {
 public:
  template <typename... Extra> enum_(const handle& scope, const char* name, const Extra&... extra) : class_<T>(scope, name, extra...) {}
  enum_& value(const char* name, T value, const char* doc = nullptr) { return *this; }
  enum_& export_values() { return *this; }
};
class gil_scoped_acquire { public: gil_scoped_acquire(); ~gil_scoped_acquire(); };
class gil_scoped_release { public: explicit gil_scoped_release(bool disassoc = false); ~gil_scoped_release(); };
class error_already_set : public std::exception { public: error_already_set(); const char* what() const noexcept override; bool matches(handle exc) const; void restore(); };
class builtin_exception : public std::runtime_error { public: using std::runtime_error::runtime_error; };
class cast_error : public std::runtime_error { public: using std::runtime_error::runtime_error; };
class value_error : public builtin_exception { public: using builtin_exception::builtin_exception; };
class type_error : public builtin_exception { public: using builtin_exception::builtin_exception; };
class index_error : public builtin_exception { public: using builtin_exception::builtin_exception; };
template <typename T> void register_exception(handle scope, const char* name, handle base = nullptr);
}  // namespace pybind11

#define __TORCHLESS_CONCAT_(a, b) a##b
#define __TORCHLESS_CONCAT(a, b) __TORCHLESS_CONCAT_(a, b)
#define PYBIND11_MODULE(name, variable, ...) \
  static void __TORCHLESS_CONCAT(pybind11_init_, name)(::pybind11::module_&); \
  extern "C" __attribute__((visibility("default"))) PyObject* __TORCHLESS_CONCAT(PyInit_, name)() { auto m = ::pybind11::module_::create_extension_module("", nullptr, nullptr); __TORCHLESS_CONCAT(pybind11_init_, name)(m); return m.ptr(); } \
  void __TORCHLESS_CONCAT(pybind11_init_, name)(::pybind11::module_& variable)
#define PYBIND11_EMBEDDED_MODULE(name, variable) static void __TORCHLESS_CONCAT(pybind11_init_, name)(::pybind11::module_& variable)
#define PYBIND11_OVERRIDE(ret, cls, fn, ...) return cls::fn(__VA_ARGS__)
#define PYBIND11_NAMESPACE pybind11

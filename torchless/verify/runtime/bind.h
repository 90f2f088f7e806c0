// From a function pointer to an Entry: each parameter's type says how its argument is read.
#pragma once
#include "harness.h"

#include <cxxabi.h>
#include <cstdio>
#include <optional>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace torchless {

// Reader<T>::kind is the word for a type that can be read; Reader<T>::read makes a value. Specialised below and by the
// headers of frameworks and targets.
template <typename T, typename = void>
struct Reader {
  static constexpr const char* kind = nullptr;
};

template <typename T>
std::string type_name() {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status);
  std::string out = text ? text : typeid(T).name();
  std::free(text);
  return out;
}

template <typename T>
struct Reader<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static constexpr const char* kind = sizeof(T) == 8 ? "int64" : sizeof(T) == 4 ? "int32" : "int8";
  static T read(const Argument& a) { return static_cast<T>(a.integers.at(0)); }
};
template <typename T>
struct Reader<T, std::enable_if_t<std::is_enum_v<T>>> {
  static constexpr const char* kind = "enum";
  static T read(const Argument& a) { return static_cast<T>(a.integers.at(0)); }
};
template <>
struct Reader<bool> {
  static constexpr const char* kind = "bool";
  static bool read(const Argument& a) { return a.integers.at(0) != 0; }
};
template <typename T>
struct Reader<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static constexpr const char* kind = "float";
  static T read(const Argument& a) { return static_cast<T>(a.real); }
};
template <>
struct Reader<std::string> {
  static constexpr const char* kind = "str";
  static std::string read(const Argument& a) { return a.text; }
};
template <>
struct Reader<std::vector<int64_t>> {
  static constexpr const char* kind = "ints";
  static std::vector<int64_t> read(const Argument& a) { return a.integers; }
};
template <>
struct Reader<hipStream_t> {
  static constexpr const char* kind = "stream";
  static hipStream_t read(const Argument&);
};
template <typename T>
struct Reader<std::optional<T>, std::enable_if_t<Reader<T>::kind != nullptr>> {
  static constexpr const char* kind = Reader<T>::kind;
  static constexpr bool optional = true;
  static std::optional<T> read(const Argument& a) {
    if (a.kind == Argument::Kind::none) return std::nullopt;
    return std::optional<T>(Reader<T>::read(a));
  }
};

template <typename T, typename = void>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<T, std::void_t<decltype(Reader<T>::optional)>> = true;

// Holds the value of one parameter for the length of the call.
template <typename P>
struct Slot {
  using Value = std::remove_cv_t<std::remove_reference_t<P>>;
  static std::string kind() {
    if constexpr (Reader<Value>::kind == nullptr) return "unsupported " + type_name<Value>();
    else return std::string(Reader<Value>::kind) + (is_optional<Value> ? "?" : "");
  }
  static constexpr bool readable = Reader<Value>::kind != nullptr;
  Value value;
  explicit Slot(const Argument& a) : value(Reader<Value>::read(a)) {}
  P get() {
    if constexpr (std::is_lvalue_reference_v<P>) return value;
    else return std::move(value);
  }
};

// A pointer to something that can be read: null for an argument that is left out.
template <typename T>
struct Slot<T*> {
  using Value = std::remove_cv_t<T>;
  static constexpr bool stream = std::is_same_v<T*, hipStream_t>;
  static constexpr bool characters = std::is_same_v<Value, char>;
  static constexpr bool readable = [] {
    if constexpr (stream || characters) return true;
    else if constexpr (std::is_void_v<Value>) return false;
    else return Reader<Value>::kind != nullptr && !std::is_arithmetic_v<Value>;
  }();
  static std::string kind() {
    if constexpr (stream) return "stream";
    else if constexpr (characters) return "str?";
    else if constexpr (readable) return std::string(Reader<Value>::kind) + "?";
    else return "unsupported " + type_name<T*>();
  }
  using Held = std::conditional_t<stream, hipStream_t,
                                  std::conditional_t<characters, std::string, std::conditional_t<readable, Value, int>>>;
  std::optional<Held> value;
  explicit Slot(const Argument& a) {
    if constexpr (stream) value = Reader<hipStream_t>::read(a);
    else if (a.kind != Argument::Kind::none) value = Reader<Held>::read(a);
  }
  T* get() {
    if constexpr (stream) return *value;
    else if constexpr (characters) return value ? const_cast<T*>(value->c_str()) : nullptr;
    else return value ? &*value : nullptr;
  }
};

// What a call gave back, as words; specialised for tensors.
template <typename T, typename = void>
struct Result {
  static std::vector<std::string> words(const T&) { return {"?"}; }
};
template <typename T>
struct Result<T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>>> {
  static std::vector<std::string> words(const T& v) {
    if constexpr (std::is_floating_point_v<T>) {
      char text[64];
      std::snprintf(text, sizeof text, "%a", static_cast<double>(v));
      return {text};
    } else {
      return {std::to_string(static_cast<long long>(v))};
    }
  }
};
template <>
struct Result<std::string> {
  static std::vector<std::string> words(const std::string& v) { return {v}; }
};
template <typename T>
struct Result<std::vector<T>> {
  static std::vector<std::string> words(const std::vector<T>& all) {
    std::vector<std::string> out{std::to_string(all.size())};
    for (const T& v : all)
      for (std::string& word : Result<T>::words(v)) out.push_back(std::move(word));
    return out;
  }
};
template <typename... T>
struct Result<std::tuple<T...>> {
  static std::vector<std::string> words(const std::tuple<T...>& all) {
    std::vector<std::string> out;
    const auto add = [&](std::vector<std::string> more) { out.insert(out.end(), more.begin(), more.end()); };
    std::apply([&](const T&... v) { (add(Result<T>::words(v)), ...); }, all);
    return out;
  }
};

template <typename R, typename... P, size_t... I>
std::vector<std::string> call_with(R (*f)(P...), const std::vector<Argument>& arguments, std::index_sequence<I...>) {
  std::tuple<Slot<P>...> slots{Slot<P>(arguments.at(I))...};
  if constexpr (std::is_void_v<R>) {
    f(std::get<I>(slots).get()...);
    return {};
  } else {
    return Result<std::remove_cv_t<std::remove_reference_t<R>>>::words(f(std::get<I>(slots).get()...));
  }
}

template <typename R, typename... P>
bool bind(const char* name, R (*f)(P...)) {
  Entry entry{name, {Slot<P>::kind()...}, std::is_void_v<R> ? "" : type_name<R>(), {}};
  if constexpr ((Slot<P>::readable && ...)) {
    entry.call = [f](const std::vector<Argument>& arguments) {
      return call_with(f, arguments, std::index_sequence_for<P...>{});
    };
  }
  entries().push_back(std::move(entry));
  return true;
}

}  // namespace torchless

#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ostream>
#include <vector>
#include <c10/util/Exception.h>

namespace c10 {
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

template <typename T> class ArrayRef final {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;
  constexpr ArrayRef() : data_(nullptr), size_(0) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(end - begin) {}
  template <typename A> ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {}
  template <size_t N> constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N> constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& l) : data_(l.begin()), size_(l.size()) {}
  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr bool equals(ArrayRef o) const { if (size_ != o.size_) return false; for (size_t i = 0; i < size_; ++i) if (data_[i] != o.data_[i]) return false; return true; }
  constexpr ArrayRef<T> slice(size_t n, size_t m) const { return ArrayRef<T>(data_ + n, m); }
  constexpr ArrayRef<T> slice(size_t n) const { return ArrayRef<T>(data_ + n, size_ - n); }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& at(size_t i) const { return data_[i]; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
 private:
  const T* data_;
  size_t size_;
};
template <typename T> inline std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  out << "[";
  for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
  return out << "]";
}
template <typename T> inline bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <typename T> inline bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <typename T> inline bool operator==(const std::vector<T>& a, ArrayRef<T> b) { return ArrayRef<T>(a).equals(b); }
template <typename T> inline bool operator==(ArrayRef<T> a, const std::vector<T>& b) { return a.equals(ArrayRef<T>(b)); }
template <typename T> inline bool operator!=(const std::vector<T>& a, ArrayRef<T> b) { return !(a == b); }
template <typename T> inline bool operator!=(ArrayRef<T> a, const std::vector<T>& b) { return !(a == b); }
using IntArrayRef = ArrayRef<int64_t>;
template <typename T> class OptionalArrayRef final {
 public:
  constexpr OptionalArrayRef() noexcept {}
  constexpr OptionalArrayRef(std::nullopt_t) noexcept {}
  constexpr OptionalArrayRef(ArrayRef<T> v) : value_(v) {}
  constexpr OptionalArrayRef(const std::initializer_list<T>& l) : value_(ArrayRef<T>(l)) {}
  constexpr OptionalArrayRef(const T& one) : value_(ArrayRef<T>(one)) {}
  OptionalArrayRef(const std::vector<T>& v) : value_(ArrayRef<T>(v)) {}
  constexpr bool has_value() const noexcept { return value_.has_value(); }
  constexpr explicit operator bool() const noexcept { return value_.has_value(); }
  constexpr const ArrayRef<T>& value() const { return value_.value(); }
  constexpr const ArrayRef<T>& operator*() const { return *value_; }
  constexpr const ArrayRef<T>* operator->() const { return &*value_; }
 private:
  std::optional<ArrayRef<T>> value_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
}  // namespace c10

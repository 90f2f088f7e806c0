#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>

namespace c10 {
template <typename I> struct integer_range {
  struct iterator { I i; using iterator_category = std::input_iterator_tag; using value_type = I; using difference_type = std::ptrdiff_t; using pointer = I*; using reference = I&; I operator*() const { return i; } iterator& operator++() { ++i; return *this; } bool operator==(const iterator& o) const { return i == o.i; } bool operator!=(const iterator& o) const { return i != o.i; } };
  I first, last;
  iterator begin() const { return {first}; }
  iterator end() const { return {last}; }
};
template <typename A, typename B> integer_range<B> irange(A begin, B end) { return {static_cast<B>(begin), end}; }
template <typename I> integer_range<I> irange(I end) { return {I(), end}; }
}  // namespace c10

#pragma once
#include <pybind11/pybind11.h>

namespace pybind11 {
class dtype : public object { public: explicit dtype(const char* format); template <typename T> static dtype of(); ssize_t itemsize() const; char kind() const; };
class array : public buffer {
 public:
  enum { c_style = 1, f_style = 2, forcecast = 16 };
  array();
  array(const pybind11::dtype& dt, std::vector<ssize_t> shape, const void* ptr = nullptr, handle base = handle());
  pybind11::dtype dtype() const;
  ssize_t size() const;
  ssize_t itemsize() const;
  ssize_t nbytes() const;
  ssize_t ndim() const;
  const ssize_t* shape() const;
  ssize_t shape(ssize_t index) const;
  const ssize_t* strides() const;
  ssize_t strides(ssize_t index) const;
  const void* data() const;
  void* mutable_data();
};
template <typename T, int ExtraFlags = array::forcecast> class array_t : public array { public: using array::array; explicit array_t(ssize_t count, const T* ptr = nullptr, handle base = handle()); const T* data() const; T* mutable_data(); const T& at(ssize_t index) const; };
}  // namespace pybind11

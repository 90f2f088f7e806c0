// aiter_tensor_t as Python makes it, for a checkout without a module_aiter_core of its own.
#include <aiter_tensor.h>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

PYBIND11_MODULE(module_aiter_core, m) {
  pybind11::class_<aiter_tensor_t>(m, "aiter_tensor_t")
      .def(pybind11::init([](uint64_t address, size_t count, int rank, const std::vector<int64_t>& sizes,
                             const std::vector<int64_t>& strides, int dtype, int device) {
        aiter_tensor_t t{};
        t.ptr = reinterpret_cast<void*>(address);
        t.numel_ = count;
        t.ndim = rank;
        for (size_t i = 0; i < sizes.size(); ++i) {
          t.shape[i] = sizes[i];
          t.strides[i] = strides[i];
        }
        t.dtype_ = static_cast<AiterDtype>(dtype);
        t.device_id = device;
        return t;
      }));
}

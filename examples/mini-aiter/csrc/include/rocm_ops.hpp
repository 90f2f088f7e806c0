// One macro per module: the rows that bind its ops.
#pragma once
#include "aiter_tensor.h"
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

#define AITER_SET_STREAM_PYBIND                                                              \
    m.def(                                                                                   \
        "_set_current_hip_stream",                                                           \
        [](int64_t stream) { aiter::setCurrentHIPStream(reinterpret_cast<hipStream_t>(stream)); }, \
        py::arg("stream"));

#define NORM_PYBIND                          \
    m.def("rms_norm",                        \
          &aiter::rms_norm,                  \
          "rms_norm",                        \
          py::arg("out"),                    \
          py::arg("input"),                  \
          py::arg("weight"),                 \
          py::arg("epsilon"));               \
    m.def("rms_norm_split",                  \
          &aiter::rms_norm_split,            \
          "rms_norm in two launches",        \
          py::arg("out"),                    \
          py::arg("input"),                  \
          py::arg("weight"),                 \
          py::arg("epsilon"),                \
          py::arg("splits") = 4);

#define SCALE_PYBIND                         \
    m.def("scale_rows",                      \
          &aiter::scale_rows,                \
          py::arg("out"),                    \
          py::arg("input"),                  \
          py::arg("scales"),                 \
          py::arg("row_map"),                \
          py::arg("bias") = std::nullopt);   \
    m.def("clamp_rows", &aiter::clamp_rows, "clamp_rows");

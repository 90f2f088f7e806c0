#pragma once
// All of torch takes a compiler twelve seconds; tensors, as everything here uses them, take three.
#include <torch/types.h>
#ifdef TORCHLESS_PYTHON  // for what binds functions to Python: torch's own conversions
#include <torch/csrc/utils/pybind.h>
namespace py = pybind11;
#endif

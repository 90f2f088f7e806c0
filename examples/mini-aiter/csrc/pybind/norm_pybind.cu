#include "rocm_ops.hpp"
#include "norm.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    NORM_PYBIND;
}

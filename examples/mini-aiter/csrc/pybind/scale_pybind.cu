#include "rocm_ops.hpp"
#include "scale.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    SCALE_PYBIND;
}

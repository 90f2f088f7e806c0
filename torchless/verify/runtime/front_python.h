// What is compiled in advance for sources that bind functions to Python, without torch.
#pragma once
#include "front.h"

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

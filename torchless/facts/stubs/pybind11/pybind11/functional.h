#pragma once
#include <functional>
#include <pybind11/pybind11.h>

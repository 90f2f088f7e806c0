#pragma once
#include <complex>
#include <pybind11/pybind11.h>

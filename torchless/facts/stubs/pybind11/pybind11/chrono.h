#pragma once
#include <chrono>
#include <pybind11/pybind11.h>

#pragma once
#include <deque>
#include <list>
#include <map>
#include <ostream>
#include <set>
#include <valarray>
#include <pybind11/pybind11.h>

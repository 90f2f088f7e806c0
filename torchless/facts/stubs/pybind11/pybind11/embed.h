#pragma once
#include <pybind11/pybind11.h>

namespace pybind11 {
class scoped_interpreter { public: explicit scoped_interpreter(bool init_signal_handlers = true); ~scoped_interpreter(); };
void initialize_interpreter(bool init_signal_handlers = true);
void finalize_interpreter();
}  // namespace pybind11

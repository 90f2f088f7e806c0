// The runtime as one translation unit: a fifth of the time of compiling its parts one by one.
#include "fake_devices.cpp"
#include "fake_launch.cpp"
#include "fake_memory.cpp"
#include "harness.cpp"
#include "journal.cpp"
#include "memory.cpp"

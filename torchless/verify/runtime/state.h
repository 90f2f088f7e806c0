// The state of the fake runtime, shared by its parts. Nothing here is for the harness.
#pragma once
#include "fake_hip.h"
#include "journal.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace torchless {

struct Stream {
  std::string name;
  int device;
  bool capturing = false;
};

struct Event {
  bool captured = false;  // recorded by a stream that was capturing
};

struct Function {
  std::string symbol;
  std::string from;  // the module it came out of, "" for a kernel of this program
};

struct State {
  std::map<const void*, std::string> kernels;  // host address -> mangled name
  std::map<std::string, std::vector<KernelArgument>> arguments;
  std::map<hipStream_t, std::unique_ptr<Stream>> streams;
  std::map<hipEvent_t, std::unique_ptr<Event>> events;
  std::map<hipModule_t, std::string> modules;
  std::map<hipFunction_t, std::unique_ptr<Function>> functions;
  hipStream_t current[kDevices] = {};
  std::string architecture = "gfx942";
  int created = 0;    // streams that the program made
  int allocated = 0;  // allocations so far: their names
};

// Kernels are registered before static constructors run: the state must be there by then.
State& state();

int& device_now();            // of this thread
hipError_t& pending_error();  // of this thread

// Remembers `error` for hipGetLastError and gives it back.
hipError_t done(hipError_t error);

// Adds the outcome to a line: nothing for success. `why` is for people.
hipError_t done(Line& line, hipError_t error, const std::string& why);

// Where work put on `stream` would run.
struct Target {
  bool known = false;  // false: not a stream at all
  std::string name;
  int device = 0;
  bool capturing = false;
};
Target target_of(hipStream_t stream);

// The values of one argument of a kernel.
std::vector<std::string> shown_argument(const KernelArgument& argument, const void* bytes);

// What a buffer of packed arguments holds, eight bytes at a time.
std::vector<std::string> shown_words(const void* bytes, size_t size);

// The name in source form, or the name itself where it is not a mangled one.
std::string demangled(const std::string& symbol);

std::vector<long long> three(dim3 d);

}  // namespace torchless

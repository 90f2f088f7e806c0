// What the harness asks of the fake HIP runtime. The runtime itself has HIP's own names: see hip/hip_runtime_api.h.
#pragma once
#include <hip/hip_runtime_api.h>

#include <string>
#include <vector>

namespace torchless {

constexpr int kDevices = 2;

// One value inside a kernel argument: its offset in bytes, and its type as LLVM writes it ("ptr", "i32", "float" ...).
struct Leaf {
  size_t offset;
  std::string type;
};

struct KernelArgument {
  std::string name;
  std::vector<Leaf> leaves;
};

// Says what the arguments of a kernel (by mangled name) are. Without it their values cannot be told.
void describe_kernel(const std::string& symbol, std::vector<KernelArgument> arguments);

// The architecture that devices say they have, e.g. "gfx942".
void set_architecture(const std::string& name);

// The stream that a framework would call current on `device`; each device has one of its own, besides the null stream.
hipStream_t current_stream(int device);

// Makes `stream` the current one of `device`; gives back the one before.
hipStream_t exchange_current_stream(int device, hipStream_t stream);

// A stream as the journal names it: "device0.current", "default" (the null stream), "stream2", "?".
std::string stream_name(hipStream_t stream);

// Before each call of an entry point: device `device` is current, no error is pending, and where `capture` says so the
// current stream of every device is recording a graph.
void begin_call(int device, bool capture);

// The device that is current for this thread. Asking leaves no trace in the journal.
int current_device();

// The architecture as set_architecture() was told.
const std::string& architecture();

// "" or why nothing may be allocated, freed or waited for now; `what` names the call that asks.
std::string capture_problem();

}  // namespace torchless

// The runtime as a library for Python: operators of torch, for alone/call_ops.py.
#include "torch_tensor.h"

#include "fake_hip.h"
#include "journal.h"
#include "memory.h"

#include <fcntl.h>
#include <sstream>
#include <torch/library.h>

namespace torchless {
namespace {

void open_journal(const std::string& path) {
  const int journal = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  TORCH_CHECK(journal >= 0, "cannot open ", path);
  journal_to(journal);
}

void describe(const std::string& line) {
  std::istringstream in(line);
  read_kernel(in);
}

void begin(int64_t call, const std::string& entry, int64_t device, bool capture) {
  begin_call(static_cast<int>(device), capture);
  Line("begin").number("call", call).text("entry", entry);
}

void end(int64_t call, const std::string& outcome, const std::string& kind, const std::string& message,
         const std::vector<std::string>& result) {
  const hipError_t pending = hipPeekAtLastError();
  Line end("end");
  end.number("call", call).text("outcome", outcome);
  if (outcome == "returned") end.texts("result", result);
  else end.text("kind", kind).text("message", message).text("where", place_of_failure(message));
  end.text("pending", hipGetErrorName(pending)).number("device", current_device());
}

at::Tensor tensor(const std::string& name, const std::string& dtype, int64_t device, int64_t offset,
                  const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  return torch_tensor_of({name, dtype, static_cast<int>(device), offset, sizes, strides});
}

void set_device(int64_t device) { C10_HIP_CHECK(hipSetDevice(static_cast<int>(device))); }
int64_t device_now() { return current_device(); }
int64_t stream(int64_t device) { return reinterpret_cast<int64_t>(current_stream(static_cast<int>(device))); }
void wait() { C10_HIP_CHECK(hipDeviceSynchronize()); }

}  // namespace
}  // namespace torchless

TORCH_LIBRARY(torchless, m) {
  m.def("open_journal", torchless::open_journal);
  m.def("architecture", [](const std::string& name) { torchless::set_architecture(name); });
  m.def("describe", torchless::describe);
  m.def("begin", torchless::begin);
  m.def("end", torchless::end);
  m.def("tensor", torchless::tensor);
  m.def("shown", [](const at::Tensor& t) { return torchless::shown_tensor(t); });
  m.def("set_device", torchless::set_device);
  m.def("current_device", torchless::device_now);
  m.def("stream", torchless::stream);
  m.def("wait", torchless::wait);
}

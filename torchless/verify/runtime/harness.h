// Entry points by name, and the arguments that they are called with. Free of any framework and of any target.
#pragma once
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <istream>
#include <string>
#include <vector>

namespace torchless {

// A tensor as it is asked for: dtype by the name that Python uses ("float16"), device -1 for the host, offset, sizes
// and strides in elements.
struct TensorSpec {
  std::string name, dtype;
  int device = 0;
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;
};

struct Argument {
  enum class Kind { none, tensor, tensors, integer, real, boolean, text, dtype, integers };
  Kind kind = Kind::none;
  std::string name;
  std::vector<TensorSpec> tensors;
  std::vector<int64_t> integers;
  double real = 0;
  std::string text;
};

// What a framework or a target says no to before the entry point is even called.
struct ConversionError {
  std::string message;
};

// Called where a function would be that nothing defines: the call ends here and says which one it was.
struct Missing {
  std::string symbol;
};
[[noreturn]] void missing(const char* symbol);

// A failure as the framework tells it: its own words, and where it was raised ("" when unknown).
struct Failure {
  std::string kind, message, where;
};

struct Entry {
  std::string name;
  std::vector<std::string> kinds;  // of the parameters, see Reader in bind.h
  std::string returns;
  std::function<std::vector<std::string>(const std::vector<Argument>&)> call;  // empty when a parameter is unsupported
};

std::vector<Entry>& entries();

// Translators turn an exception into a Failure; the last one added is asked first. False: not mine.
using Translator = std::function<bool(std::exception_ptr, Failure&)>;
void add_translator(Translator translator);

// Called before each call with the stream that the caller's device has current: what Python tells a module.
void on_stream(std::function<void(hipStream_t)> hook);

// The memory of a tensor, reserved under its name on its device and filled with small numbers, and the address of its
// first element. Null for a tensor without elements, as frameworks have it.
void* memory_of(const TensorSpec& tensor);

// Bytes of one element of a dtype, 0 for a name that is not known.
size_t element_size(const std::string& dtype);

int64_t count_of(const TensorSpec& tensor);

// Takes what describes a kernel: "SYMBOL NAME=OFFSET:TYPE,OFFSET:TYPE NAME=...".
void read_kernel(std::istream& in);

// Calls what `argv` asks for; the result is the exit code. See trace/run.py for the format.
int run(int argc, char** argv);

}  // namespace torchless

// Reads calls from a file and makes them one by one.
#include "harness.h"

#include "bind.h"
#include "fake_hip.h"
#include "journal.h"
#include "memory.h"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace torchless {
namespace {

constexpr unsigned kSeconds = 20;          // of CPU time that one call may take
constexpr size_t kFilled = size_t{1} << 16;  // bytes at the start of a tensor that hold numbers

std::vector<Translator>& translators() {
  static std::vector<Translator> all;
  return all;
}

std::vector<std::function<void(hipStream_t)>>& stream_hooks() {
  static std::vector<std::function<void(hipStream_t)>> all;
  return all;
}

const std::map<std::string, size_t>& sizes() {
  static const std::map<std::string, size_t> all{
      {"float64", 8},     {"float32", 4},           {"float16", 2},        {"bfloat16", 2},          {"int64", 8},
      {"int32", 4},       {"int16", 2},             {"int8", 1},           {"uint8", 1},             {"uint16", 2},
      {"uint32", 4},      {"uint64", 8},            {"bool", 1},           {"float8_e4m3fn", 1},     {"float8_e4m3fnuz", 1},
      {"float8_e5m2", 1}, {"float8_e5m2fnuz", 1},   {"float8_e8m0fnu", 1}, {"float4_e2m1fn_x2", 1}, {"complex64", 8},
  };
  return all;
}

struct Call {
  int index = 0;
  std::string entry;
  int device = 0;
  bool capture = false, isolated = false;
  std::vector<Argument> arguments;
};

[[noreturn]] void bad(const std::string& line) { throw std::runtime_error("cannot read: " + line); }

TensorSpec read_tensor(std::istringstream& in, const std::string& line) {
  TensorSpec t;
  size_t rank = 0;
  in >> t.name >> t.dtype >> t.device >> t.offset >> rank;
  t.sizes.resize(rank);
  t.strides.resize(rank);
  for (auto& v : t.sizes) in >> v;
  for (auto& v : t.strides) in >> v;
  if (!in) bad(line);
  return t;
}

Argument read_argument(std::istringstream& in, const std::string& line) {
  using Kind = Argument::Kind;
  Argument a;
  std::string kind, number;
  in >> kind;
  if (kind == "tensor") {
    a.kind = Kind::tensor;
    a.tensors.push_back(read_tensor(in, line));
    a.name = a.tensors[0].name;
    return a;
  }
  in >> a.name;
  if (kind == "none") return a;
  if (kind == "int" || kind == "bool") {
    a.kind = kind == "int" ? Kind::integer : Kind::boolean;
    a.integers.resize(1);
    in >> a.integers[0];
  } else if (kind == "float") {
    a.kind = Kind::real;
    in >> number;
    a.real = std::strtod(number.c_str(), nullptr);
  } else if (kind == "dtype" || kind == "str") {
    a.kind = kind == "str" ? Kind::text : Kind::dtype;
    in >> a.text;
    if (kind == "str" && !a.text.empty()) a.text.erase(0, 1);  // written with a mark in front: it may be empty
  } else if (kind == "ints" || kind == "tensors") {
    size_t count = 0;
    in >> count;
    a.kind = kind == "ints" ? Kind::integers : Kind::tensors;
    if (kind == "ints") a.integers.resize(count);
    for (auto& v : a.integers) in >> v;
    if (kind == "tensors")
      for (size_t i = 0; i < count; ++i) a.tensors.push_back(read_tensor(in, line));
  } else {
    bad(line);
  }
  if (!in) bad(line);
  return a;
}

std::vector<Call> read_calls(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot open ") + path);
  std::vector<Call> calls;
  std::string line, word;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    in >> word;
    if (word == "kernel") {
      read_kernel(in);
    } else if (word == "architecture") {
      in >> word;
      set_architecture(word);
    } else if (word == "call") {
      Call call;
      in >> call.index >> call.entry >> call.device >> call.capture >> call.isolated;
      if (!in) bad(line);
      calls.push_back(std::move(call));
    } else if (word == "with") {
      if (calls.empty()) bad(line);
      calls.back().arguments.push_back(read_argument(in, line));
    } else {
      bad(line);
    }
  }
  return calls;
}

Failure failure_of(std::exception_ptr error) {
  Failure out;
  for (auto it = translators().rbegin(); it != translators().rend(); ++it)
    if ((*it)(error, out)) return out;
  try {
    std::rethrow_exception(error);
  } catch (const ConversionError& e) {
    return {"conversion", e.message, ""};
  } catch (const Missing& e) {
    return {"missing", e.symbol, ""};
  } catch (const std::exception& e) {
    return {"std::exception", e.what(), ""};
  } catch (...) {
    return {"unknown", "an exception of unknown type", ""};
  }
}

// Ends this process when it has used so many seconds of CPU time from now on; 0 takes that back.
void limit(unsigned seconds) {
  const itimerval timer{{0, 0}, {static_cast<time_t>(seconds), 0}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

void make(const Call& call, const Entry& entry) {
  const std::string marker = "\1call " + std::to_string(call.index) + "\n";
  (void)!::write(STDERR_FILENO, marker.data(), marker.size());
  limit(kSeconds);
  begin_call(call.device, call.capture);
  { Line("begin").number("call", call.index).text("entry", call.entry); }
  Failure failure;
  std::vector<std::string> result;
  bool threw = false;
  try {
    for (const auto& hook : stream_hooks()) hook(current_stream(call.device));
    result = entry.call(call.arguments);
  } catch (...) {
    threw = true;
    failure = failure_of(std::current_exception());
  }
  const hipError_t pending = hipPeekAtLastError();
  {
    Line end("end");
    end.number("call", call.index).text("outcome", threw ? "threw" : "returned");
    if (threw) end.text("kind", failure.kind).text("message", failure.message).text("where", failure.where);
    else end.texts("result", result);
    end.text("pending", hipGetErrorName(pending)).number("device", current_device());
  }
  limit(0);
  release_all_but("@");
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void tell_end(int status, int call) {
  if (WIFSIGNALED(status)) Line("died").number("call", call).number("signal", WTERMSIG(status));
  else if (WEXITSTATUS(status)) Line("died").number("call", call).number("code", WEXITSTATUS(status)).number("signal", 0);
}

void make_isolated(const Call& call, const Entry& entry) {
  const pid_t child = ::fork();
  if (child == 0) {
    make(call, entry);
    ::_exit(0);
  }
  if (child < 0) Line("died").number("call", call.index).number("signal", 0);
  else tell_end(wait_for(child), call.index);
}

}  // namespace

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

void read_kernel(std::istream& in) {
  std::string symbol, word;
  in >> symbol;
  std::vector<KernelArgument> arguments;
  while (in >> word) {
    const size_t split = word.find('=');
    KernelArgument argument{word.substr(0, split), {}};
    std::istringstream leaves(word.substr(split + 1));
    std::string leaf;
    while (std::getline(leaves, leaf, ',')) {
      const size_t colon = leaf.find(':');
      argument.leaves.push_back({std::stoul(leaf.substr(0, colon)), leaf.substr(colon + 1)});
    }
    arguments.push_back(std::move(argument));
  }
  describe_kernel(symbol, std::move(arguments));
}

void add_translator(Translator translator) { translators().push_back(std::move(translator)); }
void on_stream(std::function<void(hipStream_t)> hook) { stream_hooks().push_back(std::move(hook)); }

hipStream_t Reader<hipStream_t>::read(const Argument&) { return current_stream(current_device()); }

void missing(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  throw Missing{text ? text : symbol};
}

size_t element_size(const std::string& dtype) {
  const auto found = sizes().find(dtype);
  return found == sizes().end() ? 0 : found->second;
}

int64_t count_of(const TensorSpec& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.sizes) count *= size;
  return count;
}

void* memory_of(const TensorSpec& tensor) {
  const size_t width = element_size(tensor.dtype);
  if (!width) throw ConversionError{"no dtype " + tensor.dtype};
  if (count_of(tensor) == 0) return nullptr;
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) last += (tensor.sizes[i] - 1) * tensor.strides[i];
  const size_t bytes = (static_cast<size_t>(last) + 1) * width;
  auto* base = static_cast<unsigned char*>(reserve(tensor.name, bytes, tensor.device));
  if (!base) throw std::runtime_error("cannot reserve " + std::to_string(bytes) + " bytes for " + tensor.name);
  const bool real = tensor.dtype.find("float") != std::string::npos;
  const size_t filled = std::min(bytes, kFilled) / width;
  for (size_t i = 0; i < filled; ++i) {
    unsigned char* at = base + i * width;
    const float half = 0.5f;
    const double half64 = 0.5;
    const uint16_t bits = tensor.dtype == "float16" ? 0x3800 : 0x3f00;
    if (real && width == 8) std::memcpy(at, &half64, 8);
    else if (real && width == 4) std::memcpy(at, &half, 4);
    else if (real && width == 2) std::memcpy(at, &bits, 2);
    else *at = tensor.dtype == "bool" ? i % 2 : i % 4;  // little-endian: the other bytes are zero
  }
  return base + static_cast<size_t>(tensor.offset) * width;
}

namespace {

// Makes the calls from `first` on, in this process; `*reached` is the one that is being made.
void make_all(const std::vector<std::pair<Call, const Entry*>>& calls, size_t first, volatile size_t* reached) {
  for (size_t i = first; i < calls.size(); ++i) {
    *reached = i;
    const auto& [call, entry] = calls[i];
    if (call.isolated) make_isolated(call, *entry);
    else make(call, *entry);
  }
}

}  // namespace

int run(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--describe") == 0) {
    journal_to(STDOUT_FILENO);
    for (const Entry& e : entries()) Line("entry").text("name", e.name).texts("kinds", e.kinds).text("returns", e.returns);
    return 0;
  }
  if (argc != 3) {
    std::cerr << "usage: harness --describe | CALLS JOURNAL\n";
    return 2;
  }
  const int journal = ::open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (journal < 0) return 3;
  std::vector<std::pair<Call, const Entry*>> calls;
  try {
    for (Call& call : read_calls(argv[1])) {
      const Entry* entry = nullptr;
      for (const Entry& e : entries())
        if (e.name == call.entry && e.call) entry = &e;
      if (!entry) throw std::runtime_error("no entry point " + call.entry);
      calls.emplace_back(std::move(call), entry);
    }
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 4;
  }
  journal_to(journal);
  // This process makes no call itself. A child makes one after the other; where it dies, a fresh one goes on behind.
  auto* reached = static_cast<volatile size_t*>(
      ::mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (reached == MAP_FAILED) return 6;
  for (size_t first = 0; first < calls.size(); first = *reached + 1) {
    *reached = first;
    const pid_t child = ::fork();
    if (child < 0) return 7;
    if (child == 0) {
      make_all(calls, first, reached);
      ::_exit(0);
    }
    const int status = wait_for(child);
    if (status == 0 && *reached + 1 >= calls.size()) break;
    tell_end(status, calls[*reached].first.index);
  }
  return 0;
}

}  // namespace torchless

int main(int argc, char** argv) { return torchless::run(argc, argv); }

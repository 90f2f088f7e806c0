// Registration and launches.
#include "memory.h"
#include "state.h"

#include <cstdio>
#include <cstring>
#include <cxxabi.h>

namespace torchless {

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

bool demangle(const std::string& symbol, std::string& out) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (status == 0 && text) out = text;
  std::free(text);
  return status == 0;
}

}  // namespace

std::string demangled(const std::string& symbol) {
  std::string out = symbol;
  if (demangle(symbol, out) || symbol.compare(0, 2, "_Z") != 0) return out;
  // Types that an older demangler does not know go by the letters of builtin types that no kernel has.
  std::string known = symbol;
  replace_all(known, "DF16b", "g");
  replace_all(known, "DB8_", "o");
  replace_all(known, "DU8_", "n");
  if (!demangle(known, out)) return symbol;
  replace_all(out, "__float128", "__bf16");
  replace_all(out, "unsigned __int128", "_BitInt(8)");
  replace_all(out, "__int128", "unsigned _BitInt(8)");
  return out;
}

std::vector<long long> three(dim3 d) { return {d.x, d.y, d.z}; }

void describe_kernel(const std::string& symbol, std::vector<KernelArgument> arguments) {
  state().arguments[symbol] = std::move(arguments);
}

namespace {

std::string hexadecimal(const unsigned char* bytes, size_t size) {
  std::string out;
  for (size_t i = size; i-- > 0;) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    out += two;
  }
  return out;
}

std::string shown_leaf(const Leaf& leaf, const unsigned char* at) {
  if (leaf.type == "ptr") {
    const void* p;
    std::memcpy(&p, at, sizeof p);
    return "ptr:" + shown(p);
  }
  if (leaf.type[0] == 'i') {
    const int bits = std::atoi(leaf.type.c_str() + 1);
    if (bits == 64) {  // addresses travel as integers, too
      uint64_t v;
      std::memcpy(&v, at, sizeof v);
      const std::string place = shown(reinterpret_cast<const void*>(v));
      return "i64:" + (v && place != "?" ? "&" + place : std::to_string(static_cast<int64_t>(v)));
    }
    int64_t v = 0;
    const size_t size = static_cast<size_t>(bits + 7) / 8;
    if (size < 8) {
      std::memcpy(&v, at, size);
      const int shift = 64 - static_cast<int>(size) * 8;
      v = static_cast<int64_t>(static_cast<uint64_t>(v) << shift) >> shift;
      return leaf.type + ":" + std::to_string(v);
    }
    return leaf.type + ":0x" + hexadecimal(at, size);
  }
  if (leaf.type == "float" || leaf.type == "double") {
    float f = 0;
    double d = 0;
    std::memcpy(leaf.type == "float" ? static_cast<void*>(&f) : &d, at, leaf.type == "float" ? 4 : 8);
    char text[64];
    std::snprintf(text, sizeof text, "%a", leaf.type == "float" ? static_cast<double>(f) : d);
    return leaf.type + ":" + text;
  }
  return leaf.type + ":0x" + hexadecimal(at, 2);  // half and bfloat
}

struct Configuration {
  dim3 grid, block;
  size_t shared;
  hipStream_t stream;
};

std::vector<Configuration>& configurations() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

// "" or why a launch of this shape would fail, in the order in which the runtime would notice.
std::pair<hipError_t, std::string> launch_problem(dim3 grid, dim3 block, size_t shared, const Target& target) {
  if (!target.known) return {hipErrorInvalidHandle, "no such stream"};
  if (target.device != device_now())
    return {hipErrorInvalidHandle, "a stream of device " + std::to_string(target.device) + " while device " +
                                       std::to_string(device_now()) + " is current"};
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
    return {hipErrorInvalidConfiguration, "an empty grid or block"};
  if (static_cast<uint64_t>(block.x) * block.y * block.z > 1024)
    return {hipErrorInvalidConfiguration, "more than 1024 threads in a block"};
  const uint64_t threads = static_cast<uint64_t>(grid.x) * block.x;
  if (threads > 0xffffffffull || static_cast<uint64_t>(grid.y) * block.y > 0xffffffffull)
    return {hipErrorInvalidConfiguration, "more than 2^32 - 1 threads in one dimension"};
  if (shared > (160u << 10)) return {hipErrorInvalidValue, "more shared memory than a block can have"};
  if (target.name == "default" && target_of(current_stream(device_now())).capturing)
    return {hipErrorStreamCaptureUnsupported, "the null stream while another one is recording a graph"};
  return {hipSuccess, ""};
}

void attributes_of(Line& line, const std::string& symbol) {
  line.text("kernel", demangled(symbol)).text("symbol", symbol);
}

hipError_t launch(const char* how, const std::string& symbol, dim3 grid, dim3 block, size_t shared, hipStream_t stream,
                  void** values) {
  const Target target = target_of(stream);
  Line line("launch");
  line.text("how", how);
  attributes_of(line, symbol);
  line.numbers("grid", three(grid)).numbers("block", three(block)).number("shared", static_cast<long long>(shared));
  line.text("stream", target.name).number("device", device_now());
  const auto known = state().arguments.find(symbol);
  if (known != state().arguments.end() && values) {
    std::vector<std::vector<std::string>> all;
    for (size_t i = 0; i < known->second.size(); ++i) all.push_back(shown_argument(known->second[i], values[i]));
    line.lists("args", all);
  }
  const auto [error, why] = launch_problem(grid, block, shared, target);
  return done(line, error, why);
}

std::string symbol_of(const void* f) {
  const auto found = state().kernels.find(f);
  return found == state().kernels.end() ? "" : found->second;
}

hipError_t launch_handle(const char* how, hipFunction_t f, dim3 grid, dim3 block, size_t shared, hipStream_t stream,
                         void** values, void** extra) {
  const auto found = state().functions.find(f);
  if (found == state().functions.end()) {
    Line line("launch");
    line.text("how", how);
    return done(line, hipErrorInvalidHandle, "no such function");
  }
  const std::string& symbol = found->second->symbol;
  if (values || !extra) return launch(how, symbol, grid, block, shared, stream, values);
  const void* buffer = nullptr;
  size_t size = 0;
  for (void** item = extra; *item != HIP_LAUNCH_PARAM_END; item += 2) {
    if (*item == HIP_LAUNCH_PARAM_BUFFER_POINTER) buffer = item[1];
    if (*item == HIP_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const size_t*>(item[1]);
  }
  const Target target = target_of(stream);
  Line line("launch");
  line.text("how", how);
  attributes_of(line, symbol);
  line.text("module", found->second->from);
  line.numbers("grid", three(grid)).numbers("block", three(block)).number("shared", static_cast<long long>(shared));
  line.text("stream", target.name).number("device", device_now());
  if (buffer) line.number("bytes", static_cast<long long>(size)).texts("words", shown_words(buffer, size));
  const auto [error, why] = launch_problem(grid, block, shared, target);
  return done(line, error, why);
}

hipFunction_t handle_for(std::string symbol, std::string from) {
  auto made = std::make_unique<Function>(Function{std::move(symbol), std::move(from)});
  const auto handle = reinterpret_cast<hipFunction_t>(made.get());
  state().functions[handle] = std::move(made);
  return handle;
}

hipModule_t load(const char* from) {
  static int loaded = 0;
  const auto handle = reinterpret_cast<hipModule_t>(static_cast<uintptr_t>(0x1000 + ++loaded));
  state().modules[handle] = from;
  return handle;
}

}  // namespace

std::vector<std::string> shown_argument(const KernelArgument& argument, const void* bytes) {
  std::vector<std::string> out{argument.name};
  for (const Leaf& leaf : argument.leaves)
    out.push_back(shown_leaf(leaf, static_cast<const unsigned char*>(bytes) + leaf.offset));
  return out;
}

std::vector<std::string> shown_words(const void* bytes, size_t size) {
  std::vector<std::string> out;
  const auto* at = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < size; i += 8) {
    uint64_t v = 0;
    std::memcpy(&v, at + i, size - i < 8 ? size - i : 8);
    const std::string place = shown(reinterpret_cast<const void*>(v));
    out.push_back(v && place != "?" ? "&" + place : "0x" + hexadecimal(at + i, size - i < 8 ? size - i : 8));
  }
  return out;
}

}  // namespace torchless

using namespace torchless;

extern "C" {

// What the compiler calls: once for each program, kernel and variable, before main and before static constructors.
void** __hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
void __hipRegisterFunction(void**, const void* host, char*, const char* name, unsigned, void*, void*, void*, void*,
                           int*) {
  state().kernels[host] = name;
}
void __hipRegisterVar(void**, void*, char*, const char*, int, size_t, int, int) {}
void __hipRegisterManagedVar(void**, void**, void*, const char*, size_t, unsigned) {}
void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
void __hipUnregisterFatBinary(void**) {}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  configurations().push_back({grid, block, shared, stream});
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream) {
  if (configurations().empty()) return hipErrorInvalidConfiguration;
  const Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *stream = top.stream;
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t shared, hipStream_t stream) {
  return launch("hipLaunchKernel", symbol_of(f), grid, block, shared, stream, args);
}
hipError_t hipLaunchCooperativeKernel(const void* f, dim3 grid, dim3 block, void** args, unsigned shared,
                                      hipStream_t stream) {
  return launch("hipLaunchCooperativeKernel", symbol_of(f), grid, block, shared, stream, args);
}
hipError_t hipExtLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t shared, hipStream_t stream,
                              hipEvent_t, hipEvent_t, int) {
  return launch("hipExtLaunchKernel", symbol_of(f), grid, block, shared, stream, args);
}
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* c, const void* f, void** args) {
  return launch("hipLaunchKernelExC", symbol_of(f), c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream, args);
}
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, hipStream_t stream, void** params, void** extra) {
  return launch_handle("hipModuleLaunchKernel", f, dim3(gx, gy, gz), dim3(bx, by, bz), shared, stream, params, extra);
}
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* c, hipFunction_t f, void** params, void** extra) {
  return launch_handle("hipDrvLaunchKernelEx", f, dim3(c->gridDimX, c->gridDimY, c->gridDimZ),
                       dim3(c->blockDimX, c->blockDimY, c->blockDimZ), c->sharedMemBytes, c->hStream, params, extra);
}

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  *module = load(path);
  Line line("call");
  return done(line.text("name", "hipModuleLoad").text("path", path), hipSuccess, "");
}
hipError_t hipModuleLoadData(hipModule_t* module, const void*) {
  *module = load("an image in memory");
  Line line("call");
  return done(line.text("name", "hipModuleLoadData"), hipSuccess, "");
}
hipError_t hipModuleUnload(hipModule_t module) {
  state().modules.erase(module);
  Line line("call");
  return done(line.text("name", "hipModuleUnload"), hipSuccess, "");
}
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  Line line("call");
  line.text("name", "hipModuleGetFunction").text("symbol", name);
  const auto found = state().modules.find(module);
  if (found == state().modules.end()) return done(line, hipErrorInvalidHandle, "no such module");
  *function = handle_for(name, found->second);
  return done(line, hipSuccess, "");
}
hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* f) {
  const std::string symbol = symbol_of(f);
  Line line("call");
  line.text("name", "hipGetFuncBySymbol").text("symbol", symbol);
  if (symbol.empty()) return done(line, hipErrorInvalidDeviceFunction, "no such kernel");
  *function = handle_for(symbol, "");
  return done(line, hipSuccess, "");
}

hipError_t hipFuncSetAttribute(const void* f, hipFuncAttribute attribute, int value) {
  Line line("attribute");
  attributes_of(line, symbol_of(f));
  line.number("attribute", attribute).number("value", value);
  return done(line, hipSuccess, "");
}
hipError_t hipFuncSetCacheConfig(const void* f, hipFuncCache_t config) {
  Line line("attribute");
  attributes_of(line, symbol_of(f));
  line.text("attribute", "cache").number("value", config);
  return done(line, hipSuccess, "");
}
hipError_t hipFuncGetAttributes(hipFuncAttributes* out, const void* f) {
  *out = {};
  out->maxThreadsPerBlock = 1024;
  out->numRegs = 64;
  out->maxDynamicSharedSizeBytes = 64 << 10;
  Line line("call");
  return done(line.text("name", "hipFuncGetAttributes").text("symbol", symbol_of(f)), hipSuccess, "");
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* f, int size, size_t shared) {
  *blocks = size > 0 ? std::max(1, 2048 / size) : 1;
  if (shared) *blocks = std::max(1, std::min(*blocks, static_cast<int>((64u << 10) / shared)));
  Line line("call");
  line.text("name", "hipOccupancyMaxActiveBlocksPerMultiprocessor").text("symbol", symbol_of(f));
  return done(line, hipSuccess, "");
}
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* f, size_t, int limit) {
  *block = limit > 0 ? std::min(limit, 1024) : 1024;
  *grid = 608;
  Line line("call");
  return done(line.text("name", "hipOccupancyMaxPotentialBlockSize").text("symbol", symbol_of(f)), hipSuccess, "");
}

}  // extern "C"

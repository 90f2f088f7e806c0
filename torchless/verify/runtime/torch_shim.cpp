// What the stand-in for torch does. See torch_shim/README.md.
#include "torch_tensor.h"

#include "fake_hip.h"
#include "journal.h"
#include "memory.h"

#include <ATen/ATen.h>
#include <ATen/hip/HIPContext.h>

#include <cstring>
#include <map>

namespace torchless {
namespace {

struct Raised {
  std::string message, where;
};
Raised& raised() {
  static thread_local Raised last;
  return last;
}

bool told_by_torch(std::exception_ptr error, Failure& out) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    out = {"c10::Error", e.msg(), raised().where};
    return true;
  } catch (...) {
    return false;
  }
}
[[maybe_unused]] const bool registered = (add_translator(told_by_torch), true);

struct Kind {
  const char* name;    // as toString() has it
  const char* python;  // as Python has it
  size_t bytes;
  const char* cpp;     // as TypeMeta has it
};
const std::map<c10::ScalarType, Kind>& kinds() {
  using S = c10::ScalarType;
  static const std::map<S, Kind> all{
      {S::Byte, {"Byte", "uint8", 1, "unsigned char"}}, {S::Char, {"Char", "int8", 1, "signed char"}}, {S::Short, {"Short", "int16", 2, "short int"}},
      {S::Int, {"Int", "int32", 4, "int"}}, {S::Long, {"Long", "int64", 8, "long int"}}, {S::Half, {"Half", "float16", 2, "c10::Half"}},
      {S::Float, {"Float", "float32", 4, "float"}}, {S::Double, {"Double", "float64", 8, "double"}},
      {S::ComplexFloat, {"ComplexFloat", "complex64", 8, "c10::complex<float>"}}, {S::Bool, {"Bool", "bool", 1, "bool"}},
      {S::BFloat16, {"BFloat16", "bfloat16", 2, "c10::BFloat16"}}, {S::UInt16, {"UInt16", "uint16", 2, "short unsigned int"}},
      {S::UInt32, {"UInt32", "uint32", 4, "unsigned int"}}, {S::UInt64, {"UInt64", "uint64", 8, "long unsigned int"}},
      {S::Float8_e5m2, {"Float8_e5m2", "float8_e5m2", 1, "c10::Float8_e5m2"}}, {S::Float8_e4m3fn, {"Float8_e4m3fn", "float8_e4m3fn", 1, "c10::Float8_e4m3fn"}},
      {S::Float8_e5m2fnuz, {"Float8_e5m2fnuz", "float8_e5m2fnuz", 1, "c10::Float8_e5m2fnuz"}},
      {S::Float8_e4m3fnuz, {"Float8_e4m3fnuz", "float8_e4m3fnuz", 1, "c10::Float8_e4m3fnuz"}},
      {S::Float8_e8m0fnu, {"Float8_e8m0fnu", "float8_e8m0fnu", 1, "c10::Float8_e8m0fnu"}},
      {S::Float4_e2m1fn_x2, {"Float4_e2m1fn_x2", "float4_e2m1fn_x2", 1, "c10::Float4_e2m1fn_x2"}},
  };
  return all;
}

at::Tensor made(TensorState state) { return at::Tensor(at::TensorBase(std::make_shared<TensorState>(std::move(state)))); }

std::vector<int64_t> dense(c10::IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

int64_t product(c10::IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

// A dimension counted from either end. `scalars`: one without dimensions counts as having one.
int64_t wrapped(int64_t dim, int64_t rank, bool scalars = false) {
  if (scalars && !rank) rank = 1;
  TORCH_CHECK_INDEX(rank > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  TORCH_CHECK_INDEX(dim >= -rank && dim < rank, "Dimension out of range (expected to be in range of [", -rank, ", ", rank - 1,
                    "], but got ", dim, ")");
  return dim < 0 ? dim + rank : dim;
}

at::Tensor allocated(c10::IntArrayRef sizes, std::vector<int64_t> strides, const c10::TensorOptions& options) {
  TensorState state;
  state.sizes = sizes.vec();
  state.strides = std::move(strides);
  state.dtype = options.dtype().toScalarType();
  state.device = options.device();
  if (state.device.is_cuda() && !state.device.has_index()) state.device.set_index(static_cast<c10::DeviceIndex>(current_device()));
  int64_t last = -1;
  if (product(sizes) > 0) {
    last = 0;
    for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * state.strides[i];
  }
  const size_t bytes = static_cast<size_t>(last + 1) * c10::elementSize(state.dtype);
  const int device = state.device.is_cuda() ? state.device.index() : -1;
  static int count = 0;
  const std::string name = "@torch" + std::to_string(device < 0 ? count : count++);
  if (device >= 0)
    Line("alloc").text("name", "torch").number("bytes", static_cast<long long>(bytes)).number("device", device).text("as", name);
  state.storage = std::make_shared<Storage>();
  state.storage->bytes = bytes;
  if (bytes) {
    state.storage->base = static_cast<char*>(device < 0 ? std::malloc(bytes) : reserve(name, bytes, device));
    TORCH_CHECK(state.storage->base, "out of memory: ", bytes, " bytes");
    if (device < 0) state.storage->release = [](void* p) { std::free(p); };
    else state.storage->release = [](void* p) { (void)release(p); };
  }
  return made(std::move(state));
}

int device_index(const at::Tensor& t) { return t.is_cuda() ? t.device().index() : current_device(); }

void tell_operator(const char* name, const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> inputs;
  for (const at::Tensor& t : tensors) inputs.push_back(shown_tensor(t));
  const int device = device_index(tensors[0]);
  Line("torch").text("op", name).texts("inputs", inputs).number("device", device)
      .text("stream", stream_name(current_stream(device)));
}

void copy(const at::Tensor& to, const at::Tensor& from) {
  TORCH_CHECK(to.sizes() == from.sizes() && to.scalar_type() == from.scalar_type(),
              "the stand-in for torch copies between tensors of one shape and dtype only");
  for (int64_t i = 0; i < to.dim(); ++i)
    TORCH_CHECK(to.size(i) <= 1 || to.stride(i), "unsupported operation: more than one element of the written-to tensor "
                "refers to a single memory location. Please clone() the tensor before performing the operation.");
  if (!to.numel()) return;
  const int device = to.is_cuda() ? device_index(to) : device_index(from);
  if (to.is_contiguous() && from.is_contiguous()) {
    if (to.is_cuda() || from.is_cuda())
      Line("memcpy").text("name", "torch").text("to", shown(to.data_ptr())).text("from", shown(from.data_ptr()))
          .number("bytes", static_cast<long long>(to.nbytes())).number("kind", to.is_cuda() ? (from.is_cuda() ? 3 : 1) : 2)
          .number("device", device).text("stream", stream_name(current_stream(device)));
    std::memmove(to.data_ptr(), from.data_ptr(), to.nbytes());
    return;
  }
  if (to.is_cuda() || from.is_cuda()) tell_operator("aten::copy_", {to, from});
  const size_t width = to.itemsize();
  for (int64_t n = 0; n < to.numel(); ++n) {
    int64_t a = 0, b = 0, rest = n;
    for (size_t i = to.sizes().size(); i-- > 0; rest /= to.sizes()[i]) {
      a += rest % to.sizes()[i] * to.strides()[i];
      b += rest % to.sizes()[i] * from.strides()[i];
    }
    std::memcpy(static_cast<char*>(to.data_ptr()) + a * static_cast<int64_t>(width),
                static_cast<const char*>(from.data_ptr()) + b * static_cast<int64_t>(width), width);
  }
}

void tell_fill(const at::Tensor& t) {
  if (!t.numel()) return;
  if (!t.is_contiguous()) return tell_operator("aten::zero_", {t});
  const int device = device_index(t);
  if (t.is_cuda())
    Line("memset").text("name", "torch").text("to", shown(t.data_ptr())).number("value", 0).number("width", 1)
        .number("bytes", static_cast<long long>(t.nbytes())).number("device", device)
        .text("stream", stream_name(current_stream(device)));
  if (t.nbytes() <= (size_t{64} << 20)) std::memset(t.data_ptr(), 0, t.nbytes());
}

// Strides for the same order of dimensions in memory, without gaps.
std::vector<int64_t> packed(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] && strides[b] && strides[a] > strides[b]; });
  std::vector<int64_t> out(sizes.size());
  int64_t step = 1;
  for (size_t n = order.size(); n-- > 0;) {
    out[order[n]] = step;
    step *= std::max<int64_t>(sizes[order[n]], 1);
  }
  return out;
}

// The strides of a view of another shape, or nothing when it would need a copy: dimensions that follow each other
// without a gap form a block, and each block must hold whole dimensions of the new shape.
std::optional<std::vector<int64_t>> reshaped(const at::Tensor& t, c10::IntArrayRef wanted) {
  std::vector<int64_t> out(wanted.size());
  if (!t.numel()) return dense(wanted);
  auto next = static_cast<int64_t>(wanted.size()) - 1;
  int64_t old_count = 1, new_count = 1, base = t.dim() ? t.strides().back() : 1;
  for (int64_t i = t.dim() - 1; i >= 0; --i) {
    old_count *= t.size(i);
    const bool ends = i == 0 || (t.size(i - 1) != 1 && t.stride(i - 1) != old_count * base);
    if (!ends) continue;
    while (next >= 0 && (new_count < old_count || wanted[static_cast<size_t>(next)] == 1)) {
      out[static_cast<size_t>(next)] = new_count * base;
      new_count *= wanted[static_cast<size_t>(next--)];
    }
    if (new_count != old_count) return std::nullopt;
    if (i > 0) {
      base = t.stride(i - 1);
      old_count = new_count = 1;
    }
  }
  while (next >= 0) out[static_cast<size_t>(next--)] = base;
  return out;
}

at::Tensor view_of(const at::Tensor& t, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) {
  TensorState state = t.state();
  state.sizes = std::move(sizes);
  state.strides = std::move(strides);
  state.offset = offset;
  return made(std::move(state));
}

}  // namespace

c10::ScalarType scalar_type_of(const std::string& dtype) {
  for (const auto& [type, kind] : kinds())
    if (dtype == kind.python) return type;
  throw ConversionError{"the stand-in for torch has no dtype " + dtype};
}

at::Tensor torch_tensor_of(const TensorSpec& spec) {
  TensorState state;
  state.dtype = scalar_type_of(spec.dtype);
  state.sizes = spec.sizes;
  state.strides = spec.strides;
  if (spec.device >= 0) state.device = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(spec.device));
  state.storage = std::make_shared<Storage>();
  if (auto* p = static_cast<char*>(memory_of(spec))) {
    const Place place = place_of(p);
    state.storage->base = p - place.offset;
    state.storage->bytes = place.offset + place.left;
    state.offset = static_cast<int64_t>(place.offset / c10::elementSize(state.dtype));
  }
  return made(std::move(state));
}

std::string shown_tensor(const at::Tensor& t) {
  if (!t.defined()) return "undefined";
  std::ostringstream out;
  const auto list = [&](c10::IntArrayRef values) {
    out << "[";
    for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
    out << "]";
  };
  out << c10::toString(t.scalar_type()) << " ";
  list(t.sizes());
  out << " strides ";
  list(t.strides());
  out << " " << t.device() << " " << shown(t.data_ptr());
  return out.str();
}

}  // namespace torchless

using namespace torchless;

namespace c10 {
Error::Error(std::string msg, std::string, const void*) { raised().message = std::move(msg); }
const char* Error::what() const noexcept { return raised().message.c_str(); }
const std::string& Error::msg() const { return raised().message; }
namespace detail {
void torchCheckFail(const char*, const char* file, uint32_t line, const std::string& msg) {
  raised().where = std::string(file) + ":" + std::to_string(line);
  throw Error(msg);
}
void torchCheckFail(const char* func, const char* file, uint32_t line, const char* msg) {
  torchCheckFail(func, file, line, std::string(msg));
}
void warn(const char*, const char*, uint32_t, const std::string&) {}
}  // namespace detail

std::string DeviceTypeName(DeviceType d, bool lower) {
  const std::string name = d == kCPU ? "CPU" : d == kCUDA ? "CUDA" : d == kHIP ? "HIP" : "OTHER";
  return !lower ? name : d == kCPU ? "cpu" : d == kCUDA ? "cuda" : d == kHIP ? "hip" : "other";
}
std::ostream& operator<<(std::ostream& out, DeviceType d) { return out << DeviceTypeName(d, true); }
std::string Device::str() const {
  return DeviceTypeName(type_, true) + (has_index() ? ":" + std::to_string(index_) : "");
}
std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }
std::ostream& operator<<(std::ostream& out, const Stream& s) { return out << "stream " << s.id() << " on device " << s.device(); }

const char* toString(ScalarType t) {
  const auto found = kinds().find(t);
  return found == kinds().end() ? "Undefined" : found->second.name;
}
size_t elementSize(ScalarType t) {
  const auto found = kinds().find(t);
  TORCH_CHECK(found != kinds().end(), "Unknown ScalarType");
  return found->second.bytes;
}
bool isIntegralType(ScalarType t, bool includeBool) {
  using S = ScalarType;
  return t == S::Byte || t == S::Char || t == S::Int || t == S::Long || t == S::Short || t == S::UInt16 ||
         t == S::UInt32 || t == S::UInt64 || (includeBool && t == S::Bool);
}
bool isFloat8Type(ScalarType t) {
  using S = ScalarType;
  return t == S::Float8_e5m2 || t == S::Float8_e5m2fnuz || t == S::Float8_e4m3fn || t == S::Float8_e4m3fnuz || t == S::Float8_e8m0fnu;
}
bool isReducedFloatingType(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::BFloat16 || isFloat8Type(t) || t == ScalarType::Float4_e2m1fn_x2;
}
bool isFloatingType(ScalarType t) { return t == ScalarType::Double || t == ScalarType::Float || isReducedFloatingType(t); }
bool isComplexType(ScalarType t) {
  return t == ScalarType::ComplexHalf || t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble;
}
bool isSignedType(ScalarType t) {
  using S = ScalarType;
  return t != S::Byte && t != S::UInt16 && t != S::UInt32 && t != S::UInt64 && t != S::Bool && t != S::Float8_e8m0fnu;
}
std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.isBoolean()) return out << (s.toBool() ? "true" : "false");
  return s.isFloatingPoint() ? out << s.toDouble() : out << s.toLong();
}
}  // namespace c10

namespace caffe2 {
size_t TypeMeta::itemsize() const noexcept { return c10::elementSize(type_); }
std::string_view TypeMeta::name() const noexcept {
  const auto found = kinds().find(type_);
  return found == kinds().end() ? "nullptr (uninitialized)" : found->second.cpp;
}
std::ostream& operator<<(std::ostream& out, TypeMeta meta) { return out << meta.name(); }
}  // namespace caffe2

namespace at {
torchless::TensorState& TensorBase::state() const {
  TORCH_CHECK(state_, "tensor does not have a device");
  return *state_;
}
int64_t TensorBase::size(int64_t dim) const { return state().sizes[static_cast<size_t>(wrapped(dim, this->dim()))]; }
int64_t TensorBase::stride(int64_t dim) const { return state().strides[static_cast<size_t>(wrapped(dim, this->dim()))]; }
int64_t TensorBase::numel() const { return product(sizes()); }
std::string TensorBase::toString() const { return std::string(device().is_cuda() ? "CUDA" : "CPU") + c10::toString(scalar_type()) + "Type"; }
bool TensorBase::is_contiguous(c10::MemoryFormat) const {
  int64_t step = 1;
  for (int64_t i = dim() - 1; i >= 0 && numel() > 0; --i) {
    if (size(i) != 1 && stride(i) != step) return false;
    step *= size(i);
  }
  return true;
}
void* TensorBase::data_ptr() const {
  if (!numel()) return nullptr;
  return state().storage->base + state().offset * static_cast<int64_t>(itemsize());
}
void* TensorBase::checked(c10::ScalarType wanted) const {
  TORCH_CHECK(scalar_type() == wanted, "expected scalar type ", wanted, " but found ", scalar_type());
  return data_ptr();
}

#include "torch_shim/views.inc"

Tensor empty(c10::IntArrayRef size, c10::TensorOptions options, std::optional<c10::MemoryFormat>) {
  return allocated(size, dense(size), options);
}
Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, c10::TensorOptions options) {
  return allocated(size, stride.vec(), options);
}
Tensor empty_like(const Tensor& self, c10::TensorOptions options, std::optional<c10::MemoryFormat>) {
  options = options.dtype(options.has_dtype() ? options.dtype() : self.dtype());
  options = options.device(std::optional(options.has_device() ? options.device() : self.device()));
  return allocated(self.sizes(), self.is_contiguous() ? dense(self.sizes()) : packed(self.sizes(), self.strides()), options);
}
Tensor zeros(c10::IntArrayRef size, c10::TensorOptions options) { return empty(size, options).zero_(); }
Tensor zeros_like(const Tensor& self, c10::TensorOptions options, std::optional<c10::MemoryFormat> format) {
  return empty_like(self, options, format).zero_();
}
Tensor reshape(const Tensor& self, c10::IntArrayRef shape) { return self.reshape(shape); }
Tensor transpose(const Tensor& self, int64_t a, int64_t b) { return self.transpose(a, b); }
}  // namespace at

namespace at::cuda {
hipDeviceProp_t* getDeviceProperties(c10::DeviceIndex device) {
  static hipDeviceProp_t all[torchless::kDevices];
  TORCH_CHECK(device >= 0 && device < torchless::kDevices, "no device ", static_cast<int>(device));
  C10_HIP_CHECK(hipGetDeviceProperties(&all[device], device));
  return &all[device];
}
hipDeviceProp_t* getCurrentDeviceProperties() { return getDeviceProperties(c10::hip::current_device()); }
int warp_size() { return getCurrentDeviceProperties()->warpSize; }
}  // namespace at::cuda

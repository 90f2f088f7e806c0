// The real torch (a build for the CPU) with a second kind of device: tensors that say they are on cuda:0 or cuda:1 and
// lie in memory of this process. Nothing of torch is patched. A tensor is what its storage says it is, and the
// dispatcher takes kernels for the CUDA key from anyone: a fallback here runs the CPU's kernel on the same memory.
#include "torch_tensor.h"

#include "fake_hip.h"
#include "journal.h"
#include "memory.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/hip/HIPContext.h>
#include <ATen/hip/HIPGeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstring>
#include <map>

namespace torchless {
namespace {

const std::map<std::string, std::string>& torch_names() {  // Python's names -> ScalarType's
  static const std::map<std::string, std::string> all{
      {"float64", "Double"}, {"float32", "Float"},   {"float16", "Half"},  {"bfloat16", "BFloat16"}, {"int64", "Long"},
      {"int32", "Int"},      {"int16", "Short"},     {"int8", "Char"},     {"uint8", "Byte"},        {"uint16", "UInt16"},
      {"uint32", "UInt32"},  {"uint64", "UInt64"},   {"bool", "Bool"},     {"complex64", "ComplexFloat"},
  };
  return all;
}

c10::Storage storage_of(void* p, size_t bytes, c10::Device device, void* context, c10::DeleterFnPtr deleter) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(p, context, deleter, device), nullptr, false);
}

at::Tensor tensor_on(c10::Storage storage, c10::DispatchKey key, c10::ScalarType dtype, at::IntArrayRef sizes,
                     at::IntArrayRef strides, int64_t offset) {
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key),
                                                          c10::scalarTypeToTypeMeta(dtype));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return t;
}

void release_memory(void* p) { (void)release(p); }

// Memory from torch's allocator: unlike hipMalloc it may be asked while a graph is being recorded.
at::Tensor allocated(at::IntArrayRef sizes, at::IntArrayRef strides, c10::ScalarType dtype, c10::Device device) {
  const int index = device.has_index() ? device.index() : current_device();
  int64_t last = -1;
  if (c10::multiply_integers(sizes) > 0) {
    last = 0;
    for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  }
  const size_t bytes = static_cast<size_t>(last + 1) * c10::elementSize(dtype);
  static int count = 0;
  const std::string name = "@torch" + std::to_string(count++);
  Line("alloc").text("name", "torch").number("bytes", static_cast<long long>(bytes)).number("device", index).text("as", name);
  void* p = bytes ? reserve(name, bytes, index) : nullptr;
  TORCH_CHECK(!bytes || p, "out of memory: ", bytes, " bytes");
  return tensor_on(storage_of(p, bytes, c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index)), p, release_memory),
                   c10::DispatchKey::CUDA, dtype, sizes, strides, 0);
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                 std::optional<c10::Device> device, std::optional<bool>, std::optional<c10::MemoryFormat>) {
  return allocated(sizes, c10::contiguous_strides(sizes), dtype.value_or(c10::kFloat), device.value_or(c10::kCUDA));
}
at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  return allocated(sizes, strides, dtype.value_or(c10::kFloat), device.value_or(c10::kCUDA));
}

struct Aliases {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;  // on the CPU, as it was given

  at::Tensor on_cpu(const at::Tensor& t) {
    if (!t.defined() || !t.is_cuda()) return t;
    for (const auto& [cpu, given] : pairs)
      if (given.is_same(t)) return cpu;
    auto* keeper = new c10::Storage(t.storage());
    const auto drop = [](void* p) { delete static_cast<c10::Storage*>(p); };
    c10::Storage storage = storage_of(t.storage().mutable_data(), t.storage().nbytes(), c10::kCPU, keeper, drop);
    at::Tensor cpu = tensor_on(std::move(storage), c10::DispatchKey::CPU, t.scalar_type(), t.sizes(), t.strides(), t.storage_offset());
    pairs.emplace_back(cpu, t);
    return cpu;
  }

  // A result: one of the arguments, a view of one, or something new.
  at::Tensor given_back(const at::Tensor& t, bool& view) {
    if (!t.defined() || !t.is_cpu()) return t;
    for (const auto& [cpu, given] : pairs) {
      if (cpu.is_same(t)) return given;
      if (cpu.storage().is_alias_of(t.storage())) {
        view = true;
        return tensor_on(given.storage(), c10::DispatchKey::CUDA, t.scalar_type(), t.sizes(), t.strides(), t.storage_offset());
      }
    }
    at::Tensor out = allocated(t.sizes(), t.strides(), t.scalar_type(), pairs.empty() ? c10::Device(c10::kCUDA) : pairs[0].second.device());
    if (out.storage().nbytes()) std::memcpy(out.storage().mutable_data(), t.data_ptr(), std::min(out.storage().nbytes(), t.storage().nbytes()));
    return out;
  }
};

std::string stream_now(int device) { return stream_name(current_stream(device)); }

// What an operator did, in the runtime's words where it has some.
void tell(const std::string& name, const std::vector<at::Tensor>& tensors, const torch::jit::Stack& values, int device) {
  const auto contiguous = [](const at::Tensor& t) { return t.is_contiguous(); };
  if ((name == "aten::zero_" || name == "aten::fill_") && !tensors.empty() && contiguous(tensors[0])) {
    const auto& t = tensors[0];
    const bool zero = name == "aten::zero_" || (values.size() > 1 && values[1].isScalar() && values[1].toScalar().equal(0));
    if (zero && t.numel()) {
      Line("memset").text("name", "torch").text("to", shown(t.data_ptr())).number("value", 0).number("width", 1)
          .number("bytes", static_cast<long long>(t.nbytes())).number("device", device).text("stream", stream_now(device));
      return;
    }
    if (!t.numel()) return;
  }
  if (name == "aten::copy_" && !tensors.empty() && !tensors[0].numel()) return;
  if (name == "aten::copy_" && tensors.size() == 2 && tensors[0].scalar_type() == tensors[1].scalar_type() &&
      contiguous(tensors[0]) && contiguous(tensors[1])) {
    const bool to = tensors[0].is_cuda(), from = tensors[1].is_cuda();
    Line("memcpy").text("name", "torch").text("to", shown(tensors[0].data_ptr())).text("from", shown(tensors[1].data_ptr()))
        .number("bytes", static_cast<long long>(tensors[0].nbytes())).number("kind", to ? (from ? 3 : 1) : 2)
        .number("device", device).text("stream", stream_now(device));
    return;
  }
  if (name == "aten::_local_scalar_dense") {
    Line("sync").text("name", "item").number("device", device).text("stream", stream_now(device));
    return;
  }
  std::vector<std::string> inputs;
  for (const auto& t : tensors) inputs.push_back(shown_tensor(t));
  Line("torch").text("op", name).texts("inputs", inputs).number("device", device).text("stream", stream_now(device));
}

void on_memory(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Aliases aliases;
  std::vector<at::Tensor> tensors;
  torch::jit::Stack values;
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    c10::IValue& v = (*stack)[i];
    values.push_back(v);
    if (v.isTensor()) {
      if (v.toTensor().defined()) tensors.push_back(v.toTensor());
      v = aliases.on_cpu(v.toTensor());
    } else if (v.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : v.toTensorVector()) {
        tensors.push_back(t);
        list.push_back(aliases.on_cpu(t));
      }
      v = list;
    } else if (v.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& t : v.toOptionalTensorList()) list.push_back(t ? std::optional(aliases.on_cpu(*t)) : t);
      v = list;
    } else if (v.isDevice() && v.toDevice().is_cuda()) {
      v = c10::Device(c10::kCPU);
    }
  }
  int device = current_device();
  for (const at::Tensor& t : tensors)
    if (t.is_cuda()) {
      device = t.device().index();
      break;
    }
  op.callBoxed(stack);
  bool view = false;
  const size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    c10::IValue& v = (*stack)[i];
    if (v.isTensor()) {
      v = aliases.given_back(v.toTensor(), view);
    } else if (v.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : v.toTensorVector()) list.push_back(aliases.given_back(t, view));
      v = list;
    }
  }
  for (const auto& [cpu, given] : aliases.pairs)  // in place: other sizes, same memory
    if (cpu.sizes() != given.sizes() || cpu.strides() != given.strides())
      given.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
  if (!view || op.schema().is_mutable()) tell(op.schema().name(), tensors, values, device);
}

struct GuardImpl final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::DeviceType::CUDA;
  c10::DeviceType type() const override { return static_type; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {static_type, static_cast<c10::DeviceIndex>(current_device())}; }
  void setDevice(c10::Device device) const override {
    if (device.index() != current_device()) C10_HIP_CHECK(hipSetDevice(device.index()));
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() != current_device()) (void)hipSetDevice(device.index());
  }
  c10::Stream getStream(c10::Device device) const override { return c10::hip::getCurrentHIPStream(device.index()); }
  c10::Stream getDefaultStream(c10::Device device) const override { return c10::hip::getDefaultHIPStream(device.index()); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    c10::hip::setCurrentHIPStream(c10::hip::HIPStream(stream));
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
};

bool told_by_torch(std::exception_ptr error, Failure& out);

struct Raised {  // where the last failing check of this thread stood
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
    const std::string words = e.what_without_backtrace();
    if (words.find("missing kernel for") != std::string::npos || words.find("Could not run 'aten::") != std::string::npos) {
      out = {"missing", "an operator of torch (" + words.substr(0, words.find('\n')) + ")", ""};
      return true;
    }
    out = {"c10::Error", words, place_of_failure(words)};
    return true;
  } catch (...) {
    return false;
  }
}

[[maybe_unused]] const bool registered = (add_translator(told_by_torch), true);

}  // namespace

std::string place_of_failure(const std::string& message) { return raised().message == message ? raised().where : ""; }

c10::ScalarType scalar_type_of(const std::string& dtype) {
  const auto known = torch_names().find(dtype);
  std::string name = known == torch_names().end() ? dtype : known->second;
  if (known == torch_names().end() && !name.empty()) name[0] = static_cast<char>(std::toupper(name[0]));
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i)
    if (name == c10::toString(static_cast<c10::ScalarType>(i))) return static_cast<c10::ScalarType>(i);
  throw ConversionError{"this torch has no dtype " + dtype};
}

at::Tensor torch_tensor_of(const TensorSpec& spec) {
  const c10::ScalarType dtype = scalar_type_of(spec.dtype);
  void* p = memory_of(spec);
  const size_t width = c10::elementSize(dtype);
  const Place place = place_of(p);
  const size_t bytes = p ? place.offset + place.left : 0;
  void* base = p ? static_cast<char*>(p) - place.offset : nullptr;
  const bool host = spec.device < 0;
  const c10::Device device = host ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(spec.device));
  return tensor_on(storage_of(base, bytes, device, nullptr, [](void*) {}), host ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA,
                   dtype, spec.sizes, spec.strides, static_cast<int64_t>(place.offset / width));
}

std::string shown_tensor(const at::Tensor& t) {
  if (!t.defined()) return "undefined";
  std::ostringstream out;
  out << c10::toString(t.scalar_type()) << " " << t.sizes() << " strides " << t.strides() << " " << t.device() << " " << shown(t.data_ptr());
  return out.str();
}

}  // namespace torchless

namespace at::cuda {
hipDeviceProp_t* getDeviceProperties(c10::DeviceIndex device) {
  static hipDeviceProp_t all[torchless::kDevices];
  TORCH_CHECK(device >= 0 && device < torchless::kDevices, "no device ", device);
  C10_HIP_CHECK(hipGetDeviceProperties(&all[device], device));
  return &all[device];
}
hipDeviceProp_t* getCurrentDeviceProperties() { return getDeviceProperties(c10::hip::current_device()); }
int warp_size() { return getCurrentDeviceProperties()->warpSize; }
}  // namespace at::cuda

namespace at {
CUDAGeneratorImpl::CUDAGeneratorImpl(c10::DeviceIndex device)
    : c10::GeneratorImpl(c10::Device(c10::kCUDA, device), c10::DispatchKeySet(c10::DispatchKey::CUDA)),
      seed_(c10::default_rng_seed_val + static_cast<uint64_t>(device)) {}
void CUDAGeneratorImpl::set_current_seed(uint64_t seed) { seed_ = seed, offset_ = 0; }
void CUDAGeneratorImpl::set_offset(uint64_t offset) { offset_ = offset; }
uint64_t CUDAGeneratorImpl::get_offset() const { return offset_; }
uint64_t CUDAGeneratorImpl::current_seed() const { return seed_; }
uint64_t CUDAGeneratorImpl::seed() { return seed_; }
void CUDAGeneratorImpl::set_state(const c10::TensorImpl&) { torchless::missing("CUDAGeneratorImpl::set_state"); }
c10::intrusive_ptr<c10::TensorImpl> CUDAGeneratorImpl::get_state() const {
  torchless::missing("CUDAGeneratorImpl::get_state");
}
CUDAGeneratorImpl* CUDAGeneratorImpl::clone_impl() const { torchless::missing("CUDAGeneratorImpl::clone"); }
PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(uint64_t increment) {
  const uint64_t offset = offset_;
  offset_ += (increment + 3) / 4 * 4;  // torch counts in fours
  return PhiloxCudaState(seed_, offset);
}

namespace cuda::detail {
const Generator& getDefaultCUDAGenerator(c10::DeviceIndex device) {
  static const Generator all[torchless::kDevices] = {make_generator<CUDAGeneratorImpl>(c10::DeviceIndex(0)),
                                                     make_generator<CUDAGeneratorImpl>(c10::DeviceIndex(1))};
  return all[device < 0 ? c10::hip::current_device() : device];
}
}  // namespace cuda::detail
}  // namespace at

// These two stand in front of torch's own: every failing check, the launcher's or torch's, says where it stands.
namespace c10::detail {
void torchCheckFail(const char* func, const char* file, uint32_t line, const std::string& msg) {
  torchless::raised() = {msg, std::string(file) + ":" + std::to_string(line)};
  throw ::c10::Error(::c10::SourceLocation{func, file, line}, msg);
}
void torchCheckFail(const char* func, const char* file, uint32_t line, const char* msg) {
  torchCheckFail(func, file, line, std::string(msg));
}
}  // namespace c10::detail

C10_REGISTER_GUARD_IMPL(CUDA, torchless::GuardImpl);

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&torchless::on_memory>()); }
TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", torchless::empty);
  m.impl("empty_strided", torchless::empty_strided);
  // torch has a kernel for every device here, which then looks for the device's own part in vain
  m.impl("copy_", torch::CppFunction::makeFromBoxedFunction<&torchless::on_memory>());
}

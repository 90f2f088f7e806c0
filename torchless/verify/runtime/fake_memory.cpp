// Allocation, copies and fills. Memory of the fake devices is memory of this process; kernels never run on it.
#include "memory.h"
#include "state.h"

#include <algorithm>
#include <cstring>

using namespace torchless;

namespace {

constexpr size_t kTouched = size_t{64} << 20;  // larger copies and fills are written down but not carried out

std::string& refused() {
  static std::string none;
  return none;
}

hipError_t allocate(const char* name, void** out, size_t bytes, int device, const std::string& stream) {
  Line line("alloc");
  line.text("name", name).number("bytes", static_cast<long long>(bytes)).number("device", device);
  if (!stream.empty()) line.text("stream", stream);
  const std::string problem = capture_problem();
  if (!problem.empty()) {
    *out = nullptr;
    return done(line, hipErrorStreamCaptureUnsupported, problem);
  }
  const std::string called = "@alloc" + std::to_string(state().allocated++);
  *out = bytes ? reserve(called, bytes, device) : nullptr;
  if (bytes && !*out) return done(line, hipErrorOutOfMemory, "too large");
  line.text("as", called);
  return done(line, hipSuccess, "");
}

hipError_t deallocate(const char* name, void* p, const std::string& stream) {
  Line line("free");
  line.text("name", name).text("pointer", shown(p)).number("device", device_now());
  if (!stream.empty()) line.text("stream", stream);
  const std::string problem = capture_problem();
  if (!problem.empty()) return done(line, hipErrorStreamCaptureUnsupported, problem);
  if (!p) return done(line, hipSuccess, "");
  const Place place = place_of(p);
  if (place.name.compare(0, 1, "@") != 0 || place.offset) return done(line, hipErrorInvalidValue, "not an allocation");
  release(p);
  return done(line, hipSuccess, "");
}

// "" or why `bytes` bytes at `p` cannot be read or written. Memory without a name is taken on trust.
std::string overrun(const void* p, size_t bytes, const char* what) {
  if (!bytes) return "";
  if (!p) return std::string(what) + " is null";
  const Place place = place_of(p);
  if (place.name.empty() || place.left >= bytes) return "";
  return std::string(what) + " ends " + std::to_string(bytes - place.left) + " bytes behind " + place.name;
}

hipError_t copy(const char* name, void* to, const void* from, size_t bytes, int kind, bool waits,
                const std::string& stream) {
  Line line("memcpy");
  line.text("name", name).text("to", shown(to)).text("from", shown(from));
  line.number("bytes", static_cast<long long>(bytes)).number("kind", kind).number("device", device_now());
  if (!waits) line.text("stream", stream);
  const std::string problem = waits ? capture_problem() : "";
  if (!problem.empty()) return done(line, hipErrorStreamCaptureUnsupported, problem);
  const std::string wrong = overrun(to, bytes, "the target") + overrun(from, bytes, "the source");
  if (!wrong.empty()) return done(line, hipErrorInvalidValue, wrong);
  if (bytes && bytes <= kTouched) std::memmove(to, from, bytes);
  return done(line, hipSuccess, "");
}

hipError_t fill(const char* name, void* to, int value, size_t width, size_t count, bool waits,
                const std::string& stream) {
  Line line("memset");
  line.text("name", name).text("to", shown(to)).number("value", value).number("width", static_cast<long long>(width));
  line.number("bytes", static_cast<long long>(width * count)).number("device", device_now());
  if (!waits) line.text("stream", stream);
  const std::string problem = waits ? capture_problem() : "";
  if (!problem.empty()) return done(line, hipErrorStreamCaptureUnsupported, problem);
  const std::string wrong = overrun(to, width * count, "the target");
  if (!wrong.empty()) return done(line, hipErrorInvalidValue, wrong);
  if (width * count <= kTouched) {
    auto* at = static_cast<unsigned char*>(to);
    for (size_t i = 0; i < count; ++i) std::memcpy(at + i * width, &value, width);
  }
  return done(line, hipSuccess, "");
}

hipError_t copy_rows(const char* name, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                     size_t height, int kind, bool waits, const std::string& stream) {
  Line line("memcpy");
  line.text("name", name).text("to", shown(to)).text("from", shown(from)).number("kind", kind);
  line.numbers("rows", {static_cast<long long>(to_pitch), static_cast<long long>(from_pitch),
                        static_cast<long long>(width), static_cast<long long>(height)});
  line.number("device", device_now());
  if (!waits) line.text("stream", stream);
  const std::string problem = waits ? capture_problem() : "";
  if (!problem.empty()) return done(line, hipErrorStreamCaptureUnsupported, problem);
  if (height && width) {
    const std::string wrong = overrun(to, to_pitch * (height - 1) + width, "the target") +
                              overrun(from, from_pitch * (height - 1) + width, "the source");
    if (!wrong.empty()) return done(line, hipErrorInvalidValue, wrong);
    if (width * height <= kTouched)
      for (size_t i = 0; i < height; ++i)
        std::memmove(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width);
  }
  return done(line, hipSuccess, "");
}

hipError_t simple(const char* name) {
  Line line("call");
  return done(line.text("name", name), hipSuccess, "");
}

}  // namespace

extern "C" {

hipError_t hipMalloc(void** p, size_t bytes) { return allocate("hipMalloc", p, bytes, device_now(), refused()); }
hipError_t hipExtMallocWithFlags(void** p, size_t bytes, unsigned) {
  return allocate("hipExtMallocWithFlags", p, bytes, device_now(), refused());
}
hipError_t hipMallocManaged(void** p, size_t bytes, unsigned) {
  return allocate("hipMallocManaged", p, bytes, device_now(), refused());
}
hipError_t hipMallocAsync(void** p, size_t bytes, hipStream_t stream) {
  return allocate("hipMallocAsync", p, bytes, target_of(stream).device, stream_name(stream));
}
hipError_t hipHostMalloc(void** p, size_t bytes, unsigned) {
  return allocate("hipHostMalloc", p, bytes, -1, refused());
}
hipError_t hipFree(void* p) { return deallocate("hipFree", p, refused()); }
hipError_t hipFreeAsync(void* p, hipStream_t stream) { return deallocate("hipFreeAsync", p, stream_name(stream)); }
hipError_t hipHostFree(void* p) { return deallocate("hipHostFree", p, refused()); }
hipError_t hipHostRegister(void*, size_t, unsigned) { return simple("hipHostRegister"); }
hipError_t hipHostUnregister(void*) { return simple("hipHostUnregister"); }
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return simple("hipHostGetDevicePointer");
}
hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  *free = size_t{128} << 30;
  *total = size_t{192} << 30;
  return simple("hipMemGetInfo");
}

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return copy("hipMemcpy", to, from, bytes, kind, true, refused());
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy("hipMemcpyAsync", to, from, bytes, kind, false, stream_name(stream));
}
hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy("hipMemcpyWithStream", to, from, bytes, kind, false, stream_name(stream));
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return copy("hipMemcpyDtoD", to, from, bytes, hipMemcpyDeviceToDevice, true, refused());
}
hipError_t hipMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, hipStream_t stream) {
  return copy("hipMemcpyPeerAsync", to, from, bytes, hipMemcpyDeviceToDevice, false, stream_name(stream));
}
hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind) {
  return copy_rows("hipMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind, true, refused());
}
hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  return copy_rows("hipMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind, false,
                   stream_name(stream));
}
hipError_t hipMemset(void* to, int value, size_t bytes) {
  return fill("hipMemset", to, value, 1, bytes, true, refused());
}
hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return fill("hipMemsetAsync", to, value, 1, bytes, false, stream_name(stream));
}
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return fill("hipMemsetD32Async", to, value, 4, count, false, stream_name(stream));
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* p) {
  const Place place = place_of(p);
  if (place.name.empty()) return done(hipErrorInvalidValue);
  *out = {};
  out->type = place.device < 0 ? hipMemoryTypeHost : hipMemoryTypeDevice;
  out->device = std::max(place.device, 0);
  out->devicePointer = out->hostPointer = const_cast<void*>(p);
  return simple("hipPointerGetAttributes");
}
hipError_t hipPointerGetAttribute(void* out, hipPointer_attribute attribute, hipDeviceptr_t p) {
  const Place place = place_of(p);
  if (place.name.empty()) return done(hipErrorInvalidValue);
  void* start = static_cast<char*>(p) - place.offset;
  const size_t size = place.offset + place.left;
  if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR) std::memcpy(out, &start, sizeof start);
  else if (attribute == HIP_POINTER_ATTRIBUTE_RANGE_SIZE) std::memcpy(out, &size, sizeof size);
  else if (attribute == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL) std::memcpy(out, &place.device, sizeof place.device);
  else return done(hipErrorNotSupported);
  return simple("hipPointerGetAttribute");
}
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* p) {
  std::memset(handle->reserved, 0, sizeof handle->reserved);
  std::memcpy(handle->reserved, &p, sizeof p);
  return simple("hipIpcGetMemHandle");
}
hipError_t hipIpcOpenMemHandle(void** p, hipIpcMemHandle_t handle, unsigned) {
  std::memcpy(p, handle.reserved, sizeof *p);
  return simple("hipIpcOpenMemHandle");
}
hipError_t hipIpcCloseMemHandle(void*) { return simple("hipIpcCloseMemHandle"); }

}  // extern "C"

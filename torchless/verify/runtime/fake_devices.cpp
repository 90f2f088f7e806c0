// Devices, streams, events, errors, capture.
#include "memory.h"
#include "state.h"

#include <cstdio>
#include <cstring>

namespace torchless {

State& state() {
  static State* all = new State;  // never destroyed: programs are unregistered after static destructors
  return *all;
}

int& device_now() {
  static thread_local int device = 0;
  return device;
}

hipError_t& pending_error() {
  static thread_local hipError_t error = hipSuccess;
  return error;
}

hipError_t done(hipError_t error) {
  if (error != hipSuccess) pending_error() = error;
  return error;
}

hipError_t done(Line& line, hipError_t error, const std::string& why) {
  if (error != hipSuccess) line.text("error", hipGetErrorName(error)).text("why", why);
  return done(error);
}

void set_architecture(const std::string& name) { state().architecture = name; }
const std::string& architecture() { return state().architecture; }
int current_device() { return device_now(); }

namespace {

hipStream_t add_stream(const std::string& name, int device) {
  auto made = std::make_unique<Stream>(Stream{name, device});
  const auto handle = reinterpret_cast<hipStream_t>(made.get());
  state().streams[handle] = std::move(made);
  return handle;
}

Stream* find(hipStream_t stream) {
  const auto found = state().streams.find(stream);
  return found == state().streams.end() ? nullptr : found->second.get();
}

bool any_capture() {
  for (const auto& [handle, stream] : state().streams)
    if (stream->capturing) return true;
  return false;
}

// The two handles that name the null stream explicitly: hipStreamLegacy and hipStreamPerThread.
bool is_default(hipStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

// What waits for a stream, or for everything.
hipError_t wait(const char* name, hipStream_t stream, bool everything) {
  Line line("sync");
  line.text("name", name);
  if (!everything) line.text("stream", stream_name(stream));
  line.number("device", device_now());
  const std::string problem = capture_problem();
  if (!problem.empty()) return done(line, hipErrorStreamCaptureUnsupported, problem);
  return done(line, hipSuccess, "");
}

hipError_t make(hipStream_t* out, const char* name) {
  *out = add_stream("stream" + std::to_string(++state().created), device_now());
  Line line("call");
  return done(line.text("name", name).text("stream", stream_name(*out)), hipSuccess, "");
}

hipError_t make(hipEvent_t* out, const char* name) {
  auto made = std::make_unique<Event>();
  *out = reinterpret_cast<hipEvent_t>(made.get());
  state().events[*out] = std::move(made);
  Line line("call");
  return done(line.text("name", name), hipSuccess, "");
}

bool valid(int device) { return device >= 0 && device < kDevices; }

int multiprocessors() {
  const std::string& name = state().architecture;
  return name == "gfx90a" ? 104 : name == "gfx950" ? 256 : name == "gfx942" ? 304 : 64;
}
bool narrow_waves() { return state().architecture.compare(0, 4, "gfx1") == 0; }
int shared_bytes() { return state().architecture == "gfx950" ? 160 << 10 : 64 << 10; }

}  // namespace

hipStream_t current_stream(int device) {
  if (!valid(device)) return nullptr;
  hipStream_t& stream = state().current[device];
  if (!stream) stream = add_stream("device" + std::to_string(device) + ".current", device);
  return stream;
}

hipStream_t exchange_current_stream(int device, hipStream_t stream) {
  const hipStream_t before = current_stream(device);
  if (valid(device)) state().current[device] = stream;
  return before;
}

Target target_of(hipStream_t stream) {
  if (is_default(stream)) return {true, "default", device_now(), false};
  const Stream* found = find(stream);
  if (!found) return {false, "?", -1, false};
  return {true, found->name, found->device, found->capturing};
}

std::string stream_name(hipStream_t stream) { return target_of(stream).name; }

void begin_call(int device, bool capture) {
  static hipStream_t own[kDevices] = {};
  for (auto& [handle, stream] : state().streams) stream->capturing = false;
  for (int i = 0; i < kDevices; ++i) {
    if (!own[i]) own[i] = current_stream(i);
    state().current[i] = own[i];
    find(own[i])->capturing = capture;
  }
  device_now() = device;
  pending_error() = hipSuccess;
}

std::string capture_problem() { return any_capture() ? "not allowed while a stream is recording a graph" : ""; }

}  // namespace torchless

using namespace torchless;

extern "C" {

hipError_t hipInit(unsigned) { return hipSuccess; }
hipError_t hipDriverGetVersion(int* version) {
  *version = 70000000;
  return hipSuccess;
}
hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }
hipError_t hipGetDevice(int* device) {
  *device = device_now();
  Line("call").text("name", "hipGetDevice").number("device", *device);
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  Line line("set_device");
  line.number("device", device);
  if (!valid(device)) return done(line, hipErrorInvalidDevice, "no such device");
  device_now() = device;
  return done(line, hipSuccess, "");
}
hipError_t hipGetDeviceCount(int* count) {
  *count = kDevices;
  return hipSuccess;
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  if (!valid(ordinal)) return done(hipErrorInvalidDevice);
  *device = ordinal;
  return hipSuccess;
}
hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  if (!valid(device)) return done(hipErrorInvalidDevice);
  std::snprintf(name, static_cast<size_t>(length), "fake %s", state().architecture.c_str());
  return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* out, int device) {
  Line line("call");
  line.text("name", "hipGetDeviceProperties").number("device", device);
  if (!valid(device)) return done(line, hipErrorInvalidDevice, "no such device");
  std::memset(static_cast<void*>(out), 0, sizeof *out);
  std::snprintf(out->name, sizeof out->name, "fake %s", state().architecture.c_str());
  std::snprintf(out->gcnArchName, sizeof out->gcnArchName, "%s:sramecc+:xnack-", state().architecture.c_str());
  out->totalGlobalMem = size_t{192} << 30;
  out->sharedMemPerBlock = out->sharedMemPerMultiprocessor = out->sharedMemPerBlockOptin =
      out->maxSharedMemoryPerMultiProcessor = static_cast<size_t>(shared_bytes());
  out->regsPerBlock = out->regsPerMultiprocessor = 65536;
  out->warpSize = narrow_waves() ? 32 : 64;
  out->maxThreadsPerBlock = 1024;
  for (int i = 0; i < 3; ++i) out->maxThreadsDim[i] = 1024;
  out->maxGridSize[0] = 2147483647;
  out->maxGridSize[1] = out->maxGridSize[2] = 65536;
  out->maxThreadsPerMultiProcessor = 2048;
  out->maxBlocksPerMultiProcessor = 2;
  out->clockRate = 2100000;
  out->memoryClockRate = 1300000;
  out->memoryBusWidth = 8192;
  out->l2CacheSize = 4 << 20;
  out->multiProcessorCount = multiprocessors();
  out->major = 9;
  out->minor = 4;
  out->cooperativeLaunch = out->concurrentKernels = out->canMapHostMemory = 1;
  return done(line, hipSuccess, "");
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  Line line("call");
  line.text("name", "hipDeviceGetAttribute").number("attribute", attribute).number("device", device);
  if (!valid(device)) return done(line, hipErrorInvalidDevice, "no such device");
  switch (attribute) {
    case hipDeviceAttributeMultiprocessorCount: *value = multiprocessors(); break;
    case hipDeviceAttributeWarpSize: *value = narrow_waves() ? 32 : 64; break;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = 1024; break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor: *value = 2048; break;
    case hipDeviceAttributeMaxBlocksPerMultiprocessor: *value = 2; break;
    case hipDeviceAttributeMaxRegistersPerBlock: *value = 65536; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
    case hipDeviceAttributeSharedMemPerBlockOptin: *value = shared_bytes(); break;
    case hipDeviceAttributeMaxGridDimX: *value = 2147483647; break;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ: *value = 65536; break;
    case hipDeviceAttributeComputeCapabilityMajor: *value = 9; break;
    case hipDeviceAttributeComputeCapabilityMinor: *value = 4; break;
    case hipDeviceAttributeCooperativeLaunch: *value = 1; break;
    case hipDeviceAttributeClockRate: *value = 2100000; break;
    case hipDeviceAttributeL2CacheSize: *value = 4 << 20; break;
    case hipDeviceAttributePciChipId: *value = 0x74a1; break;  // an MI300X
    default: *value = 0;
  }
  return done(line, hipSuccess, "");
}
hipError_t hipDeviceSynchronize(void) { return wait("hipDeviceSynchronize", nullptr, true); }
hipError_t hipDeviceReset(void) { return wait("hipDeviceReset", nullptr, true); }
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = valid(device) && valid(peer) && device != peer;
  return hipSuccess;
}
hipError_t hipDeviceEnablePeerAccess(int, unsigned) { return hipSuccess; }

hipError_t hipGetLastError(void) {
  const hipError_t error = pending_error();
  pending_error() = hipSuccess;
  return error;
}
hipError_t hipPeekAtLastError(void) { return pending_error(); }
const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess: return "hipSuccess";
    case hipErrorInvalidValue: return "hipErrorInvalidValue";
    case hipErrorOutOfMemory: return "hipErrorOutOfMemory";
    case hipErrorInvalidConfiguration: return "hipErrorInvalidConfiguration";
    case hipErrorInvalidDeviceFunction: return "hipErrorInvalidDeviceFunction";
    case hipErrorInvalidDevice: return "hipErrorInvalidDevice";
    case hipErrorInvalidHandle: return "hipErrorInvalidHandle";
    case hipErrorNotSupported: return "hipErrorNotSupported";
    case hipErrorStreamCaptureUnsupported: return "hipErrorStreamCaptureUnsupported";
    default: return "hipErrorUnknown";
  }
}
const char* hipGetErrorString(hipError_t error) { return hipGetErrorName(error); }
hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  *text = hipGetErrorName(error);
  return hipSuccess;
}

hipError_t hipStreamCreate(hipStream_t* stream) { return make(stream, "hipStreamCreate"); }
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) { return make(stream, "hipStreamCreateWithFlags"); }
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned, int) {
  return make(stream, "hipStreamCreateWithPriority");
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  Line line("call");
  line.text("name", "hipStreamDestroy").text("stream", stream_name(stream));
  return done(line, state().streams.erase(stream) ? hipSuccess : hipErrorInvalidHandle, "no such stream");
}
hipError_t hipStreamQuery(hipStream_t stream) { return wait("hipStreamQuery", stream, false); }
hipError_t hipStreamSynchronize(hipStream_t stream) { return wait("hipStreamSynchronize", stream, false); }
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  const Target target = target_of(stream);
  if (!target.known) return done(hipErrorInvalidHandle);
  *device = target.device;
  return hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  *status = target_of(stream).capturing ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
  return hipSuccess;
}
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
  Line line("call");
  line.text("name", "hipStreamBeginCapture").text("stream", stream_name(stream));
  Stream* found = find(stream);
  if (!found || found->capturing) return done(line, hipErrorInvalidValue, "cannot record a graph");
  found->capturing = true;
  return done(line, hipSuccess, "");
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  Line line("call");
  line.text("name", "hipStreamEndCapture").text("stream", stream_name(stream));
  Stream* found = find(stream);
  if (!found || !found->capturing) return done(line, hipErrorInvalidValue, "records no graph");
  found->capturing = false;
  *graph = nullptr;
  return done(line, hipSuccess, "");
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  static thread_local hipStreamCaptureMode current = hipStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return hipSuccess;
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  Line line("wait_event");
  line.text("stream", stream_name(stream));
  const auto found = state().events.find(event);
  if (found == state().events.end()) return done(line, hipErrorInvalidHandle, "no such event");
  if (Stream* s = find(stream); s && found->second->captured) s->capturing = true;
  return done(line, hipSuccess, "");
}
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t, void*, unsigned) {
  Line line("call");
  return done(line.text("name", "hipStreamAddCallback").text("stream", stream_name(stream)), hipSuccess, "");
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t, void*) {
  Line line("call");
  return done(line.text("name", "hipLaunchHostFunc").text("stream", stream_name(stream)), hipSuccess, "");
}
hipError_t hipEventCreate(hipEvent_t* event) { return make(event, "hipEventCreate"); }
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) { return make(event, "hipEventCreateWithFlags"); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  Line line("record_event");
  line.text("stream", stream_name(stream));
  const auto found = state().events.find(event);
  if (found == state().events.end()) return done(line, hipErrorInvalidHandle, "no such event");
  found->second->captured = target_of(stream).capturing;
  return done(line, hipSuccess, "");
}
hipError_t hipEventDestroy(hipEvent_t event) {
  Line line("call");
  line.text("name", "hipEventDestroy");
  return done(line, state().events.erase(event) ? hipSuccess : hipErrorInvalidHandle, "no such event");
}
hipError_t hipEventQuery(hipEvent_t) { return wait("hipEventQuery", nullptr, true); }
hipError_t hipEventSynchronize(hipEvent_t) { return wait("hipEventSynchronize", nullptr, true); }
hipError_t hipEventElapsedTime(float* ms, hipEvent_t, hipEvent_t) {
  *ms = 1.0f;
  return hipSuccess;
}

}  // extern "C"

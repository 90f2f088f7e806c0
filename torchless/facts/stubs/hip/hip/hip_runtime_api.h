#pragma once
#include <string.h>
#include <hip/hip_version.h>
#include <hip/hip_common.h>
#include <stdint.h>
#include <stddef.h>
#include <limits.h>
#include <hip/amd_detail/host_defines.h>
#include <hip/amd_detail/newer_builtins.h>
#if USE_PROF_API
#include <sstream>
#include <string>
#endif

// Handles.
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef struct ihipCtx_t* hipCtx_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphNode* hipGraphNode_t;
typedef struct hipGraphExec* hipGraphExec_t;
typedef struct ihipMemPoolHandle_t* hipMemPool_t;
typedef struct ihipLibrary_t* hipLibrary_t;
typedef struct ihipKernel_t* hipKernel_t;
typedef int hipDevice_t;
typedef void* hipDeviceptr_t;
typedef void (*hipHostFn_t)(void* userData);

typedef enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorMemoryAllocation = 2,
  hipErrorNotInitialized = 3,
  hipErrorInitializationError = 3,
  hipErrorDeinitialized = 4,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorInvalidContext = 201,
  hipErrorNoBinaryForGpu = 209,
  hipErrorPeerAccessUnsupported = 217,
  hipErrorFileNotFound = 301,
  hipErrorSharedObjectInitFailed = 303,
  hipErrorInvalidHandle = 400,
  hipErrorInvalidResourceHandle = 400,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorPeerAccessAlreadyEnabled = 704,
  hipErrorPeerAccessNotEnabled = 705,
  hipErrorAssert = 710,
  hipErrorHostMemoryAlreadyRegistered = 712,
  hipErrorLaunchFailure = 719,
  hipErrorCooperativeLaunchTooLarge = 720,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorUnknown = 999
} hipError_t;
#define CUDA_SUCCESS hipSuccess  // sources that were ported from CUDA compare with it
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void* userData);

typedef struct hipUUID_t { char bytes[16]; } hipUUID;
typedef struct hipDeviceArch_t { unsigned hasGlobalInt32Atomics : 1; unsigned hasFloatAtomicAdd : 1; unsigned hasDoubles : 1; unsigned hasWarpShuffle : 1; } hipDeviceArch_t;
typedef struct hipDeviceProp_t {
  hipUUID uuid;
  char name[256];
  char gcnArchName[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, maxSharedMemoryPerMultiProcessor, totalConstMem, memPitch;
  int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
  int clockRate, memoryClockRate, memoryBusWidth, l2CacheSize, multiProcessorCount, major, minor, computeMode, clockInstructionRate;
  int pciBusID, pciDomainID, pciDeviceID, isMultiGpuBoard, canMapHostMemory, integrated, cooperativeLaunch, concurrentKernels, managedMemory, asicRevision, isLargeBar, ECCEnabled;
  hipDeviceArch_t arch;
} hipDeviceProp_t;

typedef enum hipMemcpyKind { hipMemcpyHostToHost = 0, hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2, hipMemcpyDeviceToDevice = 3, hipMemcpyDefault = 4, hipMemcpyDeviceToDeviceNoCU = 1024 } hipMemcpyKind;
typedef enum hipMemoryType { hipMemoryTypeUnregistered = 0, hipMemoryTypeHost = 1, hipMemoryTypeDevice = 2, hipMemoryTypeManaged = 3, hipMemoryTypeArray = 10, hipMemoryTypeUnified = 11 } hipMemoryType;
typedef struct hipPointerAttribute_t { hipMemoryType type; int device; void* devicePointer; void* hostPointer; int isManaged; unsigned allocationFlags; } hipPointerAttribute_t;
typedef enum hipPointer_attribute { HIP_POINTER_ATTRIBUTE_CONTEXT = 1, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, HIP_POINTER_ATTRIBUTE_HOST_POINTER, HIP_POINTER_ATTRIBUTE_BUFFER_ID = 7, HIP_POINTER_ATTRIBUTE_IS_MANAGED, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11, HIP_POINTER_ATTRIBUTE_RANGE_SIZE } hipPointer_attribute;
typedef enum hipDeviceAttribute_t {
  hipDeviceAttributeClockRate = 5,
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeComputeCapabilityMinor = 61,
  hipDeviceAttributeCooperativeLaunch = 10,
  hipDeviceAttributeL2CacheSize = 19,
  hipDeviceAttributeMaxBlocksPerMultiprocessor = 33,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY,
  hipDeviceAttributeMaxGridDimZ,
  hipDeviceAttributeMaxRegistersPerBlock = 50,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 76,
  hipDeviceAttributeSharedMemPerBlockOptin = 77,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeWarpSize = 87,
  hipDeviceAttributePciBusId = 68,
  hipDeviceAttributePciDeviceId,
  hipDeviceAttributePciDomainID,
  hipDeviceAttributePciChipId = 10020
} hipDeviceAttribute_t;
typedef enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8, hipFuncAttributePreferredSharedMemoryCarveout = 9 } hipFuncAttribute;
typedef enum hipFuncCache_t { hipFuncCachePreferNone, hipFuncCachePreferShared, hipFuncCachePreferL1, hipFuncCachePreferEqual } hipFuncCache_t;
typedef struct hipFuncAttributes { int binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion; size_t constSizeBytes, localSizeBytes, sharedSizeBytes; } hipFuncAttributes;
typedef enum hipStreamCaptureStatus { hipStreamCaptureStatusNone, hipStreamCaptureStatusActive, hipStreamCaptureStatusInvalidated } hipStreamCaptureStatus;
typedef enum hipStreamCaptureMode { hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed } hipStreamCaptureMode;
typedef enum hipDataType {
  HIP_R_32F = 0, HIP_R_64F = 1, HIP_R_16F = 2, HIP_R_8I = 3, HIP_C_32F = 4, HIP_C_64F = 5, HIP_C_16F = 6, HIP_C_8I = 7, HIP_R_8U = 8, HIP_C_8U = 9, HIP_R_32I = 10, HIP_C_32I = 11, HIP_R_32U = 12, HIP_C_32U = 13, HIP_R_16BF = 14, HIP_C_16BF = 15,
  HIP_R_4I = 16, HIP_C_4I = 17, HIP_R_4U = 18, HIP_C_4U = 19, HIP_R_16I = 20, HIP_C_16I = 21, HIP_R_16U = 22, HIP_C_16U = 23, HIP_R_64I = 24, HIP_C_64I = 25, HIP_R_64U = 26, HIP_C_64U = 27,
  HIP_R_8F_E4M3 = 28, HIP_R_8F_E5M2 = 29, HIP_R_6F_E2M3_EXT = 31, HIP_R_6F_E3M2_EXT = 32, HIP_R_4F_E2M1_EXT = 33, HIP_R_8F_E4M3_FNUZ = 1000, HIP_R_8F_E5M2_FNUZ = 1001
} hipDataType;
typedef struct hipIpcMemHandle_st { char reserved[64]; } hipIpcMemHandle_t;
typedef struct hipIpcEventHandle_st { char reserved[64]; } hipIpcEventHandle_t;

#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01
#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4
#define hipEventReleaseToDevice 0x40000000
#define hipEventReleaseToSystem 0x80000000
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocNumaUser 0x20000000
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipHostRegisterDefault 0x0
#define hipHostRegisterMapped 0x2
#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipDeviceMallocUncached 0x3
#define hipIpcMemLazyEnablePeerAccess 0x01
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void*)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void*)0x02)
#define HIP_LAUNCH_PARAM_END ((void*)0x03)

typedef struct dim3 {
  uint32_t x, y, z;
  constexpr __host__ __device__ dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
} dim3;
typedef struct hipLaunchParams_t { void* func; dim3 gridDim; dim3 blockDim; void** args; size_t sharedMem; hipStream_t stream; } hipLaunchParams;
typedef enum hipLaunchAttributeID { hipLaunchAttributeAccessPolicyWindow = 1, hipLaunchAttributeCooperative = 2, hipLaunchAttributeClusterDimension = 4, hipLaunchAttributePriority = 8 } hipLaunchAttributeID;
typedef union hipLaunchAttributeValue { char pad[64]; int cooperative; int priority; struct { unsigned x, y, z; } clusterDim; } hipLaunchAttributeValue;
typedef struct hipLaunchAttribute_st { hipLaunchAttributeID id; char pad[4]; union { hipLaunchAttributeValue val; hipLaunchAttributeValue value; }; } hipLaunchAttribute;
typedef struct hipLaunchConfig_st { dim3 gridDim; dim3 blockDim; size_t dynamicSmemBytes; hipStream_t stream; hipLaunchAttribute* attrs; unsigned numAttrs; } hipLaunchConfig_t;
typedef struct HIP_LAUNCH_CONFIG_st { unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; hipStream_t hStream; hipLaunchAttribute* attrs; unsigned numAttrs; } HIP_LAUNCH_CONFIG;

extern "C" {
hipError_t hipInit(unsigned int flags);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceReset(void);
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char* hipGetErrorString(hipError_t error);
const char* hipGetErrorName(hipError_t error);
hipError_t hipDrvGetErrorString(hipError_t error, const char** text);
hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags);
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags = 0);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned int flags);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void* data);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop);
hipError_t hipMalloc(void** p, size_t bytes);
hipError_t hipExtMallocWithFlags(void** p, size_t bytes, unsigned int flags);
hipError_t hipMallocManaged(void** p, size_t bytes, unsigned int flags);
hipError_t hipMallocAsync(void** p, size_t bytes, hipStream_t stream);
hipError_t hipFree(void* p);
hipError_t hipFreeAsync(void* p, hipStream_t stream);
hipError_t hipHostMalloc(void** p, size_t bytes, unsigned int flags);
hipError_t hipHostFree(void* p);
hipError_t hipHostRegister(void* p, size_t bytes, unsigned int flags);
hipError_t hipHostUnregister(void* p);
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned int flags);
hipError_t hipMemGetInfo(size_t* free, size_t* total);
hipError_t hipMemcpy(void* dst, const void* src, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind, hipStream_t stream = 0);
hipError_t hipMemcpyWithStream(void* dst, const void* src, size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes);
hipError_t hipMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t bytes, hipStream_t stream);
hipError_t hipMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream = 0);
hipError_t hipMemset(void* dst, int value, size_t bytes);
hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream = 0);
hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* p);
hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute, hipDeviceptr_t p);
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* p);
hipError_t hipIpcOpenMemHandle(void** p, hipIpcMemHandle_t handle, unsigned int flags);
hipError_t hipIpcCloseMemHandle(void* p);
hipError_t hipModuleLoad(hipModule_t* module, const char* path);
hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedMem, hipStream_t stream, void** params, void** extra);
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t f, void** params, void** extra);
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, const void* f, void** args);
hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol);
hipError_t hipFuncSetAttribute(const void* f, hipFuncAttribute attribute, int value);
hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* f);
hipError_t hipFuncSetCacheConfig(const void* f, hipFuncCache_t config);
hipError_t hipLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t sharedMem, hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void* f, dim3 grid, dim3 block, void** args, unsigned int sharedMem, hipStream_t stream);
hipError_t hipExtLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t sharedMem, hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* f, int blockSize, size_t sharedMem);
hipError_t hipOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize, const void* f, size_t sharedMem, int limit);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t sharedMem = 0, hipStream_t stream = 0);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* sharedMem, hipStream_t* stream);
}

// What C++ adds: typed pointers.
template <class T> inline hipError_t hipMalloc(T** p, size_t bytes) { return hipMalloc((void**)p, bytes); }
template <class T> inline hipError_t hipMallocAsync(T** p, size_t bytes, hipStream_t stream) { return hipMallocAsync((void**)p, bytes, stream); }
template <class T> inline hipError_t hipMallocManaged(T** p, size_t bytes, unsigned int flags = 1) { return hipMallocManaged((void**)p, bytes, flags); }
template <class T> inline hipError_t hipHostMalloc(T** p, size_t bytes, unsigned int flags = 0) { return hipHostMalloc((void**)p, bytes, flags); }
template <class F> inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F f, int blockSize, size_t sharedMem) { return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)f, blockSize, sharedMem); }
template <class F> inline hipError_t hipOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize, F f, size_t sharedMem = 0, int limit = 0) { return hipOccupancyMaxPotentialBlockSize(gridSize, blockSize, (const void*)f, sharedMem, limit); }
template <class S, class F> inline hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMem(int* gridSize, int* blockSize, F f, S sharedMemOf, int limit = 0) { return hipOccupancyMaxPotentialBlockSize(gridSize, blockSize, (const void*)f, sharedMemOf(limit), limit); }
template <class F> inline hipError_t hipFuncSetAttribute(F* f, hipFuncAttribute attribute, int value) { return hipFuncSetAttribute((const void*)f, attribute, value); }
template <class F> inline hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, F* f) { return hipFuncGetAttributes(attributes, (const void*)f); }
template <class F> inline hipError_t hipLaunchCooperativeKernel(F f, dim3 grid, dim3 block, void** args, unsigned int sharedMem, hipStream_t stream) { return hipLaunchCooperativeKernel((const void*)f, grid, block, args, sharedMem, stream); }
template <class F> inline hipError_t hipLaunchKernel(F* f, dim3 grid, dim3 block, void** args, size_t sharedMem, hipStream_t stream) { return hipLaunchKernel((const void*)f, grid, block, args, sharedMem, stream); }

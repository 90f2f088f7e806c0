#pragma once
#include <cstddef>
#include <cmath>
#include <math.h>
#include <cstdint>
#include <tuple>
#include <unordered_map>  // callers that name std::unordered_map without a header of their own rely on it
#include <algorithm>
#include <limits.h>
#include <limits>
#include <hip/hip_runtime_api.h>
#include <hip/amd_detail/amd_hip_atomic.h>
#include <hip/amd_detail/amd_device_functions.h>

// Kernel launches.
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(x) x
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipLaunchKernelGGL(kernel, grid, block, sharedMem, stream, ...) do { kernel<<<(grid), (block), (sharedMem), (stream)>>>(__VA_ARGS__); } while (0)

// Built-in variables: each field reads its register, as in HIP.
#define __TORCHLESS_FIELD(field, value) \
  __declspec(property(get = __get_##field)) unsigned field; \
  __device__ unsigned __get_##field() const { return value; }
struct __hip_threadIdx_t { __TORCHLESS_FIELD(x, __builtin_amdgcn_workitem_id_x()) __TORCHLESS_FIELD(y, __builtin_amdgcn_workitem_id_y()) __TORCHLESS_FIELD(z, __builtin_amdgcn_workitem_id_z()) __device__ operator dim3() const { return dim3(x, y, z); } };
struct __hip_blockIdx_t { __TORCHLESS_FIELD(x, __builtin_amdgcn_workgroup_id_x()) __TORCHLESS_FIELD(y, __builtin_amdgcn_workgroup_id_y()) __TORCHLESS_FIELD(z, __builtin_amdgcn_workgroup_id_z()) __device__ operator dim3() const { return dim3(x, y, z); } };
struct __hip_blockDim_t { __TORCHLESS_FIELD(x, __builtin_amdgcn_workgroup_size_x()) __TORCHLESS_FIELD(y, __builtin_amdgcn_workgroup_size_y()) __TORCHLESS_FIELD(z, __builtin_amdgcn_workgroup_size_z()) __device__ operator dim3() const { return dim3(x, y, z); } };
struct __hip_gridDim_t { __TORCHLESS_FIELD(x, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()) __TORCHLESS_FIELD(y, __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y()) __TORCHLESS_FIELD(z, __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z()) __device__ operator dim3() const { return dim3(x, y, z); } };
#undef __TORCHLESS_FIELD
extern const __device__ __attribute__((weak)) __hip_threadIdx_t threadIdx;
extern const __device__ __attribute__((weak)) __hip_blockIdx_t blockIdx;
extern const __device__ __attribute__((weak)) __hip_blockDim_t blockDim;
extern const __device__ __attribute__((weak)) __hip_gridDim_t gridDim;

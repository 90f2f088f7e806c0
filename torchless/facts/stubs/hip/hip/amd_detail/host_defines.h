#pragma once
// Function and variable qualifiers. __noinline__ stays a plain attribute name: libstdc++ spells it so.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __hip_img_chk__
#define __torchless_bounds_threads(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __torchless_bounds_waves(n, w) __attribute__((amdgpu_flat_work_group_size(1, n), amdgpu_waves_per_eu(w)))
#define __torchless_bounds_pick(_1, _2, name, ...) name
#define __launch_bounds__(...) __torchless_bounds_pick(__VA_ARGS__, __torchless_bounds_waves, __torchless_bounds_threads, )(__VA_ARGS__)
#define __cluster_dims__(...)

// Compiled for real, in both passes.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

template <typename T> __global__ void scale(T* p, float x) {
  p[threadIdx.x] = T(float(p[threadIdx.x]) * expf(x) + __shfl_xor(x, 1));
  __syncthreads();
}
extern "C" void launch(__half* p, hipStream_t s) { scale<__half><<<dim3(2), dim3(64), 0, s>>>(p, 2.f); }

// What kernels and launchers are written with.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp8.h>
#include <hipcub/hipcub.hpp>
#include <hiprand/hiprand_kernel.h>
#include <hipblaslt/hipblaslt-ext.hpp>

//# built-in variables
__global__ void k(unsigned* p) { p[threadIdx.x + blockIdx.y * blockDim.z] = gridDim.x; dim3 d = blockIdx; p[0] = d.x; }
__global__ void __launch_bounds__(256) one(int* p) { p[0] = warpSize; }
__global__ void __launch_bounds__(256, 2) two(int* p) { p[0] = __lane_id(); }
template <int N> __global__ void __launch_bounds__(N * 64) dependent(int* p) { p[0] = N; }

//# shared memory
__global__ void k(float* p) { __shared__ float s[64]; extern __shared__ int raw[]; s[threadIdx.x] = p[0]; __syncthreads(); p[1] = s[0] + raw[0]; }
__constant__ float table[4];
__device__ int counter;

//# math
__device__ float f(float x) {
  x = expf(x) + __expf(x) + exp2f(x) + logf(x) + __logf(x) + log2f(x) + rsqrtf(x) + sqrtf(x) + tanhf(x) + erff(x);
  x += fmaxf(x, 1.f) + fminf(x, 1.f) + fabsf(x) + floorf(x) + roundf(x) + powf(x, 2.f) + fmaf(x, x, x) + __fdividef(x, x);
  x += sinf(x) + cosf(x) + __sinf(x) + __cosf(x) + __frcp_rn(x) + std::exp(x) + std::abs(x) + max(x, 0.f) + min(x, 0.f);
  float s, c; sincosf(x, &s, &c);
  return isnan(x) || isinf(x) ? s : c;
}
__device__ double g(double x) { return exp(x) + sqrt(x) + max(x, 1.0) + rsqrt(x); }
__host__ __device__ int h(int a, unsigned b) { return max(a, 3) + min(a, 4); }
int host(unsigned a, unsigned b) { return min(a, b); }

//# C library on the device
__device__ void f(char* a, const char* b, int n) { printf("%d", n); memcpy(a, b, n); memset(a, 0, n); assert(n > 0); if (n < 0) abort(); }
void g(char* a, const char* b, int n) { printf("%d", n); memcpy(a, b, n); std::abort(); }

//# lanes
__device__ float f(float x, __half h, __hip_bfloat16 b, int64_t n) {
  h = __shfl_xor(h, 1); b = __shfl_down(b, 2); n = __shfl(n, 0);
  if (__any(x > 0) && __all(x < 1)) x += __popcll(__ballot(x > 0)) + __ffsll(__ballot(1));
  return __shfl_xor(x, 16, 32) + __shfl(x, 0) + __shfl_up(x, 1u) + __shfl_xor_sync(0xffull, x, 1);
}

//# atomics
__device__ void f(int* i, unsigned* u, float* f, double* d, unsigned long long* q, __half2* h) {
  atomicAdd(i, 1); atomicAdd(u, 1); atomicAdd(f, 1); atomicAdd(d, 1); atomicAdd(q, 1); atomicAdd(h, *h); unsafeAtomicAdd(f, 1.f);
  atomicMax(i, 1); atomicMin(u, 1u); atomicExch(f, 1.f); atomicCAS(i, 1, 2); atomicCAS(q, 1, 2); atomicOr(u, 1u); atomicInc(u, 3u); atomicSub(i, 1);
  __threadfence(); __threadfence_system();
}

//# bits
__device__ int f(unsigned u, float x, long long n) {
  return __popc(u) + __clz(u) + __ffs(u) + __brev(u) + __float_as_int(x) + __float2int_rn(x) + __byte_perm(u, u, 1) + (int)__int_as_float(3) + __umulhi(u, u);
}

//# vectors
__global__ void k(float4* p, uint2 u, short4 s, const int4* q) {
  float4 a = make_float4(1, 2, 3, 4), b{1, 2, 3, 4}; a += b; a = a * 2.f + b; a.x = b.w; a[1] = u.x + s.y; *p = a;
  float2 c = {1.f, 2.f}; float3 d = make_float3(1, 2, 3); p[1].x = c.x + d.z; int4 e = *q; p[2].y = e.w;
  p[3] = *reinterpret_cast<const float4*>(q);
}
static_assert(sizeof(float4) == 16 && sizeof(float3) == 12 && sizeof(char2) == 2 && sizeof(ulonglong2) == 16);

//# half
__device__ float f(__half a, __half b, half2 c, _Float16 n) {
  a = a + b * a - b / a; a += b; b = __float2half(1.f); a = __hfma(a, b, a); c = __hmul2(c, c) + __float22half2_rn(float2{1, 2}); a = n;
  if (a < b || __hgt(a, b)) a = __habs(b); float2 w = __half22float2(c); b = static_cast<__half>(2.f); b = 3;
  return __half2float(a) + static_cast<float>(b) + __low2float(c) + w.x + float(__half(1.0f)) + __half_as_ushort(a) + (float)hexp(a);
}
__half2 g(__half a) { return __halves2half2(a, a); }

//# bf16
__device__ float f(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat162 c, hip_bfloat16 d, nv_bfloat16 e) {
  a = a + b * a - b; a += b; b = __float2bfloat16(1.f); c = __hmul2(c, c); a = __hfma(a, b, a); d = d + d; d = 1.f; e = a; c = __float22bfloat162_rn(float2{1, 2});
  return __bfloat162float(a) + static_cast<float>(b) + float(d) + __bfloat1622float2(c).x + (a < b ? 1.f : 0.f);
}

//# fp8
__device__ float f(__hip_fp8_e4m3_fnuz a, __hip_fp8_e4m3 b, __hip_fp8_storage_t s) {
  a = __hip_fp8_e4m3_fnuz(1.f); s = a.__x; __hip_fp8x4_e4m3_fnuz v(float4{1, 2, 3, 4}); __hip_fp8x4_storage_t w = v.__x; float4 r = v; return float(a) + float(b) + w + s + r.x;
}

//# compiler built-ins
__device__ int f(int x, void* p) {
  x = __builtin_amdgcn_readfirstlane(x) + __builtin_amdgcn_ds_bpermute(4, x) + __builtin_amdgcn_mov_dpp(x, 0xb1, 0xf, 0xf, true);
  __builtin_amdgcn_s_barrier(); __builtin_amdgcn_sched_barrier(0); __builtin_amdgcn_s_setprio(1);
  __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(p, 0, 16, 0); x += __builtin_amdgcn_raw_buffer_load_b32(r, 0, 0, 0);
  return x + (int)__builtin_amdgcn_rcpf(2.f);
}
static_assert(__clang_major__ >= 20, "sources choose their types by it");

//# launches
__global__ void k(int* p, float x) { p[0] = x; }
template <typename T, int N> __global__ void t(T* p) { p[0] = N; }
void f(int* p, hipStream_t s) {
  k<<<1, 64>>>(p, 1.f); k<<<dim3(1, 2), dim3(64), 128, s>>>(p, 1.f); t<int, 3><<<1, 2, 0, s>>>(p);
  hipLaunchKernelGGL(k, dim3(1), dim3(64), 0, s, p, 1.f); hipLaunchKernelGGL((t<int, 2>), 1, 2, 0, nullptr, p);
  void* args[] = {&p}; hipLaunchKernel(reinterpret_cast<const void*>(&k), dim3(1), dim3(1), args, 0, s); hipLaunchCooperativeKernel(k, dim3(1), dim3(1), args, 0, s);
}

//# runtime
void f(float* p, hipStream_t s) {
  int d; hipGetDevice(&d); hipSetDevice(d); hipDeviceProp_t q; hipGetDeviceProperties(&q, d); d = q.multiProcessorCount + q.warpSize; std::string arch = q.gcnArchName;
  hipDeviceGetAttribute(&d, hipDeviceAttributeMultiprocessorCount, 0); hipMalloc(&p, 4); hipMalloc((void**)&p, 4); hipFree(p); hipMemsetAsync(p, 0, 4, s); hipMemcpy(p, p, 4, hipMemcpyDeviceToHost);
  hipMemcpyAsync(p, p, 4, hipMemcpyHostToDevice, s); hipStreamSynchronize(s); hipEvent_t e; hipEventCreate(&e); hipEventRecord(e, s); hipEventRecord(e); float ms; hipEventElapsedTime(&ms, e, e);
  hipError_t err = hipGetLastError(); if (err != hipSuccess) printf("%s", hipGetErrorString(err));
  hipStreamCaptureStatus status; hipStreamIsCapturing(s, &status); hipIpcMemHandle_t h; hipIpcGetMemHandle(&h, p); hipModule_t m; hipFunction_t fn; hipModuleGetFunction(&fn, m, "k");
  hipOccupancyMaxActiveBlocksPerMultiprocessor(&d, f, 64, 0); void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, p, HIP_LAUNCH_PARAM_END}; hipModuleLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s, nullptr, config);
}

//# hipcub
__global__ void k(float* p) {
  using Pair = hipcub::KeyValuePair<int, float>; using Reduce = hipcub::BlockReduce<float, 64>; using Arg = hipcub::BlockReduce<Pair, 64>; typedef hipcub::BlockScan<int, 64> Scan;
  __shared__ typename Reduce::TempStorage a; __shared__ Arg::TempStorage b; __shared__ Scan::TempStorage c;
  p[0] = Reduce(a).Sum(p[1]) + Reduce(a).Reduce(p[1], hipcub::Max()) + Reduce(a).Reduce(p[0], [](float x, float y) { return x * y; });
  p[1] = Arg(b).Reduce(Pair(1, 2.f), hipcub::ArgMax()).value; int in = 1, out; Scan(c).InclusiveSum(in, out); Scan(c).ExclusiveSum(in, out);
  hipcub::Traits<float>::UnsignedBits u = hipcub::Traits<float>::TwiddleIn(3); p[2] = u;
  typedef hipcub::BlockLoad<int, 64, 4, hipcub::BLOCK_LOAD_TRANSPOSE> Load; __shared__ Load::TempStorage d; int items[4]; Load(d).Load((int*)p, items, 8, 0);
}

//# rocprim
__device__ float f(float x) { return rocprim::detail::warp_move_dpp<float, 0xb1>(x) + rocprim::warp_shuffle(x, 3, 64) + rocprim::warp_shuffle_xor(x, 3); }

//# hiprand
__global__ void k(float* p) { hiprandStatePhilox4_32_10_t s; hiprand_init(1, 2, 3, &s); float4 v = hiprand_uniform4(&s); p[0] = v.x + hiprand_uniform(&s) + hiprand_normal(&s); }

//# hipblaslt
hipblasStatus_t f(hipblasLtHandle_t h, hipblasLtMatmulDesc_t d) { int op = HIPBLAS_OP_T; hipDataType t = HIP_R_16BF; return hipblasLtMatmulDescSetAttribute(d, HIPBLASLT_MATMUL_DESC_TRANSA, &op, sizeof(op)); }

//# LDS by a pointer that has its address space in the device pass alone
#if defined(__HIP_DEVICE_COMPILE__)
#define SNIPPET_LDS __attribute__((address_space(3)))
#else
#define SNIPPET_LDS
#endif
__device__ void f(__amdgpu_buffer_rsrc_t r, SNIPPET_LDS void* lds) { __builtin_amdgcn_raw_ptr_buffer_load_lds(r, lds, 4, 0, 0, 0, 0); }

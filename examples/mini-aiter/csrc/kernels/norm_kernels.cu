#include <ATen/hip/HIPContext.h>
#include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>

#include "dispatch_utils.h"
#include "norm.h"

namespace aiter {

// One block per row: sum of squares by tree, then the scaled row.
template <typename T>
__global__ void rms_norm_kernel(T* out, const T* input, const T* weight, float epsilon, int columns)
{
    __shared__ float partial[256];
    const T* from = input + static_cast<int64_t>(blockIdx.x) * columns;
    float sum     = 0.f;
    for(int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += static_cast<float>(from[i]) * static_cast<float>(from[i]);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for(int half = blockDim.x / 2; half > 0; half /= 2)
    {
        if(threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    const float factor = rsqrtf(partial[0] / columns + epsilon);
    for(int i = threadIdx.x; i < columns; i += blockDim.x)
        out[static_cast<int64_t>(blockIdx.x) * columns + i] =
            static_cast<T>(static_cast<float>(from[i]) * factor * static_cast<float>(weight[i]));
}

// The same in two launches, for rows too few to fill the GPU.
template <typename T>
__global__ void square_sums_kernel(float* sums, const T* input, int columns)
{
    __shared__ float partial[256];
    const int width = (columns + gridDim.y - 1) / gridDim.y;
    const int first = blockIdx.y * width;
    const int last  = first + width < columns ? first + width : columns;
    const T* from   = input + static_cast<int64_t>(blockIdx.x) * columns;
    float sum       = 0.f;
    for(int i = first + threadIdx.x; i < last; i += blockDim.x)
        sum += static_cast<float>(from[i]) * static_cast<float>(from[i]);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for(int half = blockDim.x / 2; half > 0; half /= 2)
    {
        if(threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if(threadIdx.x == 0)
        sums[blockIdx.x * gridDim.y + blockIdx.y] = partial[0];
}

template <typename T>
__global__ void apply_norm_kernel(
    T* out, const T* input, const T* weight, const float* sums, int splits, float epsilon, int columns)
{
    float sum = 0.f;
    for(int i = 0; i < splits; ++i)
        sum += sums[blockIdx.x * splits + i];
    const float factor  = rsqrtf(sum / columns + epsilon);
    const int64_t start = static_cast<int64_t>(blockIdx.x) * columns;
    for(int i = threadIdx.x; i < columns; i += blockDim.x)
        out[start + i] = static_cast<T>(static_cast<float>(input[start + i]) * factor * static_cast<float>(weight[i]));
}

void rms_norm(torch::Tensor& out, torch::Tensor& input, torch::Tensor& weight, double epsilon)
{
    TORCH_CHECK(weight.numel() == input.size(-1), "rms_norm: one weight per column");
    const int columns = input.size(-1);
    const int rows    = input.numel() / columns;
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(input));
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    VLLM_DISPATCH_FLOATING_TYPES(input.scalar_type(), "rms_norm", [&] {
        rms_norm_kernel<scalar_t><<<rows, 256, 0, stream>>>(
            out.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), epsilon, columns);
    });
}

void rms_norm_split(
    torch::Tensor& out, torch::Tensor& input, torch::Tensor& weight, double epsilon, int64_t splits)
{
    TORCH_CHECK(weight.numel() == input.size(-1), "rms_norm_split: one weight per column");
    const int columns = input.size(-1);
    const int rows    = input.numel() / columns;
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(input));
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    auto sums = torch::empty({rows, splits}, input.options().dtype(at::ScalarType::Float));
    VLLM_DISPATCH_FLOATING_TYPES(input.scalar_type(), "rms_norm_split", [&] {
        square_sums_kernel<scalar_t><<<dim3(rows, splits), 256, 0, stream>>>(
            sums.data_ptr<float>(), input.data_ptr<scalar_t>(), columns);
        const auto totals = sums.sum(1);
        apply_norm_kernel<scalar_t><<<rows, 256, 0, stream>>>(out.data_ptr<scalar_t>(),
                                                              input.data_ptr<scalar_t>(),
                                                              weight.data_ptr<scalar_t>(),
                                                              totals.data_ptr<float>(),
                                                              1,
                                                              epsilon,
                                                              columns);
    });
}

} // namespace aiter

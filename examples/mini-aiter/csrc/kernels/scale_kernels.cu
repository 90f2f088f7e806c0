#include <ATen/hip/HIPContext.h>
#include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>
#include <torch/all.h>

#include "dispatch_utils.h"
#include "py_itfs_common.h"

namespace aiter {

template <typename T>
__global__ void scale_rows_kernel(T* __restrict__ out,
                                  const T* __restrict__ input,
                                  const float* __restrict__ scales,
                                  const int* __restrict__ row_map,
                                  const T* __restrict__ bias,
                                  int64_t columns,
                                  int64_t input_stride)
{
    const int64_t row  = blockIdx.x;
    const T* from      = input + row_map[row] * input_stride;
    const float factor = scales[row];
    for(int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    {
        float value = static_cast<float>(from[i]) * factor;
        if(bias != nullptr)
            value += static_cast<float>(bias[i]);
        out[row * columns + i] = static_cast<T>(value);
    }
}

template <typename T>
__global__ void clamp_rows_kernel(T* out, const T* input, float low, float high, int64_t count)
{
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if(i < count)
    {
        const float value = static_cast<float>(input[i]);
        out[i]            = static_cast<T>(value < low ? low : value > high ? high : value);
    }
}

void scale_rows(torch::Tensor& out,
                const torch::Tensor& input,
                const torch::Tensor& scales,
                const torch::Tensor& row_map,
                const std::optional<torch::Tensor>& bias)
{
    TORCH_CHECK(out.is_cuda() && input.is_cuda(), "scale_rows: tensors must be on the GPU");
    TORCH_CHECK(input.size(-1) == out.size(-1), "scale_rows: ", input.size(-1), " columns, not ", out.size(-1));
    TORCH_CHECK(out.scalar_type() == input.scalar_type(), "scale_rows: cannot make ", out.scalar_type());
    if(bias.has_value())
        TORCH_CHECK(bias->numel() == out.size(-1), "scale_rows: bias must have one element per column");

    const int64_t rows    = out.size(0);
    const int64_t columns = out.size(-1);
    const dim3 grid(rows);
    const dim3 block(std::min<int64_t>(columns, 1024));
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(input));
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    VLLM_DISPATCH_FLOATING_TYPES(input.scalar_type(), "scale_rows", [&] {
        scale_rows_kernel<scalar_t><<<grid, block, 0, stream>>>(
            out.data_ptr<scalar_t>(),
            input.data_ptr<scalar_t>(),
            scales.data_ptr<float>(),
            row_map.data_ptr<int>(),
            bias.has_value() ? bias->data_ptr<scalar_t>() : nullptr,
            columns,
            input.stride(0));
    });
}

void clamp_rows(torch::Tensor& out, const torch::Tensor& input, double low, double high)
{
    TORCH_CHECK(out.is_contiguous() && input.is_contiguous());
    TORCH_CHECK(input.dtype() != torch_fp8, "clamp_rows: fp8 has no room to clamp in");
    const int64_t count      = input.numel();
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    AITER_DISPATCH_FLOATING16_TYPES(input.scalar_type(), "clamp_rows", [&] {
        clamp_rows_kernel<scalar_t><<<(count + 255) / 256, 256, 0, stream>>>(
            out.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), low, high, count);
    });
}

} // namespace aiter

// A tensor as plain data: what C++ needs to know of a torch.Tensor.
#pragma once
#include "aiter_hip_common.h"

struct aiter_tensor_t
{
    void* ptr;
    size_t numel_;
    int ndim;
    int64_t shape[8];
    int64_t strides[8];
    AiterDtype dtype_;
    int device_id; // -1: on the CPU

    int64_t size(int i) const { return shape[i < 0 ? i + ndim : i]; }
    int64_t stride(int i) const { return strides[i < 0 ? i + ndim : i]; }
    void* data_ptr() const { return ptr; }
    size_t numel() const { return numel_; }
    int dim() const { return ndim; }
    AiterDtype dtype() const { return dtype_; }
    size_t element_size() const { return AiterDtype_element_size(dtype_); }
    bool is_gpu() const { return device_id >= 0; }
    bool is_cpu() const { return device_id == -1; }

    bool is_contiguous() const
    {
        int64_t dense = 1;
        for(int i = ndim - 1; i >= 0 && numel_ > 0; --i)
        {
            if(shape[i] != 1 && strides[i] != dense)
                return false;
            dense *= shape[i];
        }
        return true;
    }
};

#pragma once
#include <hipblas-common/hipblas-common.h>

typedef void* hipblasHandle_t;
extern "C" hipblasStatus_t hipblasCreate(hipblasHandle_t* handle);
extern "C" hipblasStatus_t hipblasDestroy(hipblasHandle_t handle);
extern "C" hipblasStatus_t hipblasSetStream(hipblasHandle_t handle, hipStream_t stream);

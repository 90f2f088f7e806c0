#pragma once
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hipblas-common/hipblas-common.h>

#define HIPBLASLT_VERSION_MAJOR 1
#define HIPBLASLT_VERSION_MINOR 0
typedef void* hipblasLtHandle_t;
typedef struct { uint64_t data[4]; } hipblasLtMatmulDescOpaque_t;
typedef struct { uint64_t data[4]; } hipblasLtMatrixLayoutOpaque_t;
typedef struct { uint64_t data[5]; } hipblasLtMatmulPreferenceOpaque_t;
typedef hipblasLtMatmulDescOpaque_t* hipblasLtMatmulDesc_t;
typedef hipblasLtMatrixLayoutOpaque_t* hipblasLtMatrixLayout_t;
typedef hipblasLtMatmulPreferenceOpaque_t* hipblasLtMatmulPreference_t;
typedef struct hipblasLtMatmulAlgo_t { uint8_t data[16]; size_t max_workspace_bytes; } hipblasLtMatmulAlgo_t;
typedef struct hipblasLtMatmulHeuristicResult_t { hipblasLtMatmulAlgo_t algo; size_t workspaceSize; hipblasStatus_t state; float wavesCount; int reserved[4]; } hipblasLtMatmulHeuristicResult_t;
typedef enum hipblasLtOrder_t { HIPBLASLT_ORDER_COL = 0, HIPBLASLT_ORDER_ROW = 1, HIPBLASLT_ORDER_COL16_4R16 = 100, HIPBLASLT_ORDER_COL16_4R8 = 101 } hipblasLtOrder_t;
typedef enum hipblasLtEpilogue_t { HIPBLASLT_EPILOGUE_DEFAULT = 1, HIPBLASLT_EPILOGUE_RELU = 2, HIPBLASLT_EPILOGUE_BIAS = 4, HIPBLASLT_EPILOGUE_RELU_BIAS = 6, HIPBLASLT_EPILOGUE_GELU = 32, HIPBLASLT_EPILOGUE_GELU_BIAS = 36 } hipblasLtEpilogue_t;
typedef enum hipblasLtMatrixLayoutAttribute_t { HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0, HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1, HIPBLASLT_MATRIX_LAYOUT_TYPE = 2, HIPBLASLT_MATRIX_LAYOUT_ORDER = 3, HIPBLASLT_MATRIX_LAYOUT_ROWS = 4, HIPBLASLT_MATRIX_LAYOUT_COLS = 5, HIPBLASLT_MATRIX_LAYOUT_LD = 6 } hipblasLtMatrixLayoutAttribute_t;
typedef enum hipblasLtMatmulDescAttributes_t { HIPBLASLT_MATMUL_DESC_TRANSA = 0, HIPBLASLT_MATMUL_DESC_TRANSB = 1, HIPBLASLT_MATMUL_DESC_EPILOGUE = 2, HIPBLASLT_MATMUL_DESC_BIAS_POINTER = 3, HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 4, HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER = 5, HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER = 6, HIPBLASLT_MATMUL_DESC_C_SCALE_POINTER = 7, HIPBLASLT_MATMUL_DESC_D_SCALE_POINTER = 8, HIPBLASLT_MATMUL_DESC_A_SCALE_MODE = 31, HIPBLASLT_MATMUL_DESC_B_SCALE_MODE = 32 } hipblasLtMatmulDescAttributes_t;
typedef enum hipblasLtMatmulMatrixScale_t { HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0, HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 = 2, HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3 } hipblasLtMatmulMatrixScale_t;
typedef enum hipblasLtMatmulPreferenceAttributes_t { HIPBLASLT_MATMUL_PREF_SEARCH_MODE = 0, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 } hipblasLtMatmulPreferenceAttributes_t;
extern "C" {
hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t* handle);
hipblasStatus_t hipblasLtDestroy(const hipblasLtHandle_t handle);
hipblasStatus_t hipblasLtGetVersion(hipblasLtHandle_t handle, int* version);
hipblasStatus_t hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t* layout, hipDataType type, uint64_t rows, uint64_t cols, int64_t ld);
hipblasStatus_t hipblasLtMatrixLayoutDestroy(const hipblasLtMatrixLayout_t layout);
hipblasStatus_t hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t layout, hipblasLtMatrixLayoutAttribute_t attribute, const void* value, size_t bytes);
hipblasStatus_t hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t* desc, hipblasComputeType_t compute, hipDataType scale);
hipblasStatus_t hipblasLtMatmulDescDestroy(const hipblasLtMatmulDesc_t desc);
hipblasStatus_t hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t desc, hipblasLtMatmulDescAttributes_t attribute, const void* value, size_t bytes);
hipblasStatus_t hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t* preference);
hipblasStatus_t hipblasLtMatmulPreferenceDestroy(const hipblasLtMatmulPreference_t preference);
hipblasStatus_t hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t preference, hipblasLtMatmulPreferenceAttributes_t attribute, const void* value, size_t bytes);
hipblasStatus_t hipblasLtMatmulAlgoGetHeuristic(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t desc, hipblasLtMatrixLayout_t a, hipblasLtMatrixLayout_t b, hipblasLtMatrixLayout_t c, hipblasLtMatrixLayout_t d, hipblasLtMatmulPreference_t preference, int requested, hipblasLtMatmulHeuristicResult_t results[], int* returned);
hipblasStatus_t hipblasLtMatmul(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t desc, const void* alpha, const void* a, hipblasLtMatrixLayout_t alayout, const void* b, hipblasLtMatrixLayout_t blayout, const void* beta, const void* c, hipblasLtMatrixLayout_t clayout, void* d, hipblasLtMatrixLayout_t dlayout, const hipblasLtMatmulAlgo_t* algo, void* workspace, size_t bytes, hipStream_t stream);
}

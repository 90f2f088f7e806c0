#pragma once
#include <hip/hip_runtime_api.h>

typedef int32_t rocblas_int;
typedef struct _rocblas_handle* rocblas_handle;
typedef enum rocblas_status_ { rocblas_status_success = 0, rocblas_status_invalid_handle = 1, rocblas_status_not_implemented = 2, rocblas_status_invalid_value = 11 } rocblas_status;
typedef enum rocblas_operation_ { rocblas_operation_none = 111, rocblas_operation_transpose = 112, rocblas_operation_conjugate_transpose = 113 } rocblas_operation;
typedef enum rocblas_fill_ { rocblas_fill_upper = 121, rocblas_fill_lower = 122, rocblas_fill_full = 123 } rocblas_fill;
typedef enum rocblas_datatype_ { rocblas_datatype_f16_r = 150, rocblas_datatype_f32_r = 151, rocblas_datatype_f64_r = 152, rocblas_datatype_i8_r = 160, rocblas_datatype_i32_r = 162, rocblas_datatype_bf16_r = 168 } rocblas_datatype;
typedef enum rocblas_gemm_algo_ { rocblas_gemm_algo_standard = 0, rocblas_gemm_algo_solution_index = 1 } rocblas_gemm_algo;
typedef enum rocblas_gemm_flags_ { rocblas_gemm_flags_none = 0, rocblas_gemm_flags_fp16_alt_impl = 4 } rocblas_gemm_flags;
extern "C" {
rocblas_status rocblas_create_handle(rocblas_handle* handle);
rocblas_status rocblas_destroy_handle(rocblas_handle handle);
rocblas_status rocblas_set_stream(rocblas_handle handle, hipStream_t stream);
rocblas_status rocblas_gemm_ex(rocblas_handle handle, rocblas_operation ta, rocblas_operation tb, rocblas_int m, rocblas_int n, rocblas_int k, const void* alpha, const void* a, rocblas_datatype at, rocblas_int lda, const void* b, rocblas_datatype bt, rocblas_int ldb, const void* beta, const void* c, rocblas_datatype ct, rocblas_int ldc, void* d, rocblas_datatype dt, rocblas_int ldd, rocblas_datatype compute, rocblas_gemm_algo algo, int32_t solution, uint32_t flags);
rocblas_status rocblas_gemm_ex_get_solutions(rocblas_handle handle, rocblas_operation ta, rocblas_operation tb, rocblas_int m, rocblas_int n, rocblas_int k, const void* alpha, const void* a, rocblas_datatype at, rocblas_int lda, const void* b, rocblas_datatype bt, rocblas_int ldb, const void* beta, const void* c, rocblas_datatype ct, rocblas_int ldc, void* d, rocblas_datatype dt, rocblas_int ldd, rocblas_datatype compute, rocblas_gemm_algo algo, uint32_t flags, rocblas_int* list, rocblas_int* size);
rocblas_status rocblas_sgemm(rocblas_handle handle, rocblas_operation ta, rocblas_operation tb, rocblas_int m, rocblas_int n, rocblas_int k, const float* alpha, const float* a, rocblas_int lda, const float* b, rocblas_int ldb, const float* beta, float* c, rocblas_int ldc);
rocblas_status rocblas_dgemm(rocblas_handle handle, rocblas_operation ta, rocblas_operation tb, rocblas_int m, rocblas_int n, rocblas_int k, const double* alpha, const double* a, rocblas_int lda, const double* b, rocblas_int ldb, const double* beta, double* c, rocblas_int ldc);
}

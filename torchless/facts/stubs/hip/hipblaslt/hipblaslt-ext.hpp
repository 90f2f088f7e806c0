#pragma once
#include <string>
#include <vector>
#include <hipblaslt/hipblaslt.h>

namespace hipblaslt_ext {
enum class GemmType { HIPBLASLT_GEMM = 1, HIPBLASLT_GROUPED_GEMM = 2 };
hipblasStatus_t getAllAlgos(hipblasLtHandle_t handle, GemmType type, hipblasOperation_t op_a, hipblasOperation_t op_b, hipDataType a, hipDataType b, hipDataType c, hipDataType d, hipblasComputeType_t compute, std::vector<hipblasLtMatmulHeuristicResult_t>& results);
int getIndexFromAlgo(hipblasLtMatmulAlgo_t& algo);
hipblasStatus_t getAlgosFromIndex(hipblasLtHandle_t handle, std::vector<int>& index, std::vector<hipblasLtMatmulHeuristicResult_t>& results);
std::string getSolutionNameFromAlgo(hipblasLtHandle_t handle, hipblasLtMatmulAlgo_t& algo);
std::string getKernelNameFromAlgo(hipblasLtHandle_t handle, hipblasLtMatmulAlgo_t& algo);
hipblasStatus_t matmulIsAlgoSupported(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t desc, const void* alpha, hipblasLtMatrixLayout_t a, hipblasLtMatrixLayout_t b, const void* beta, hipblasLtMatrixLayout_t c, hipblasLtMatrixLayout_t d, hipblasLtMatmulAlgo_t& algo, size_t& workspace);
}  // namespace hipblaslt_ext

#pragma once
#include <hip/hip_runtime.h>

typedef struct hiprandGenerator_st* hiprandGenerator_t;
typedef enum hiprandStatus { HIPRAND_STATUS_SUCCESS = 0, HIPRAND_STATUS_NOT_INITIALIZED = 101, HIPRAND_STATUS_LAUNCH_FAILURE = 201, HIPRAND_STATUS_INTERNAL_ERROR = 999 } hiprandStatus_t;
typedef enum hiprandRngType { HIPRAND_RNG_PSEUDO_DEFAULT = 400, HIPRAND_RNG_PSEUDO_XORWOW = 401, HIPRAND_RNG_PSEUDO_PHILOX4_32_10 = 404 } hiprandRngType_t;
extern "C" hiprandStatus_t hiprandCreateGenerator(hiprandGenerator_t* generator, hiprandRngType_t type);
extern "C" hiprandStatus_t hiprandDestroyGenerator(hiprandGenerator_t generator);
extern "C" hiprandStatus_t hiprandSetStream(hiprandGenerator_t generator, hipStream_t stream);
extern "C" hiprandStatus_t hiprandSetPseudoRandomGeneratorSeed(hiprandGenerator_t generator, unsigned long long seed);
extern "C" hiprandStatus_t hiprandGenerateUniform(hiprandGenerator_t generator, float* out, size_t n);

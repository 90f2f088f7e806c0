#pragma once
#include <stdint.h>
#include <hip/hip_runtime.h>

// The older type; unrelated to __hip_bfloat16.
struct hip_bfloat16 {
  uint16_t data;
  enum truncate_t { truncate };
  hip_bfloat16() = default;
  explicit __host__ __device__ hip_bfloat16(float f) : data(round(f)) {}
  explicit __host__ __device__ hip_bfloat16(float f, truncate_t) : data(uint16_t(__builtin_bit_cast(uint32_t, f) >> 16)) {}
  __host__ __device__ operator float() const { return __builtin_bit_cast(float, uint32_t(data) << 16); }
  __host__ __device__ hip_bfloat16& operator=(const float& f) { data = round(f); return *this; }
  static __host__ __device__ hip_bfloat16 round_to_bfloat16(float f) { return hip_bfloat16(f); }
  static __host__ __device__ hip_bfloat16 round_to_bfloat16(float f, truncate_t t) { return hip_bfloat16(f, t); }
  static __host__ __device__ uint16_t round(float f) { uint32_t u = __builtin_bit_cast(uint32_t, f); return uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16); }
};
__host__ __device__ inline hip_bfloat16 operator+(hip_bfloat16 a) { return a; }
__host__ __device__ inline hip_bfloat16 operator-(hip_bfloat16 a) { a.data ^= 0x8000; return a; }
__host__ __device__ inline hip_bfloat16 operator+(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) + float(b)); }
__host__ __device__ inline hip_bfloat16 operator-(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) - float(b)); }
__host__ __device__ inline hip_bfloat16 operator*(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) * float(b)); }
__host__ __device__ inline hip_bfloat16 operator/(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) / float(b)); }
__host__ __device__ inline bool operator==(hip_bfloat16 a, hip_bfloat16 b) { return float(a) == float(b); }
__host__ __device__ inline bool operator!=(hip_bfloat16 a, hip_bfloat16 b) { return float(a) != float(b); }
__host__ __device__ inline bool operator<(hip_bfloat16 a, hip_bfloat16 b) { return float(a) < float(b); }
__host__ __device__ inline bool operator>(hip_bfloat16 a, hip_bfloat16 b) { return float(a) > float(b); }
__host__ __device__ inline bool operator<=(hip_bfloat16 a, hip_bfloat16 b) { return float(a) <= float(b); }
__host__ __device__ inline bool operator>=(hip_bfloat16 a, hip_bfloat16 b) { return float(a) >= float(b); }
__host__ __device__ inline hip_bfloat16& operator+=(hip_bfloat16& a, hip_bfloat16 b) { return a = a + b; }
__host__ __device__ inline hip_bfloat16& operator-=(hip_bfloat16& a, hip_bfloat16 b) { return a = a - b; }
__host__ __device__ inline hip_bfloat16& operator*=(hip_bfloat16& a, hip_bfloat16 b) { return a = a * b; }
__host__ __device__ inline hip_bfloat16& operator/=(hip_bfloat16& a, hip_bfloat16 b) { return a = a / b; }

#pragma once
// What torch's complex numbers name of thrust when compiled for HIP. Declarations: host code computes with std::complex.
namespace thrust {
template <typename T>
struct complex {
  T re, im;
  __host__ __device__ constexpr complex(T r = T(), T i = T()) : re(r), im(i) {}
  template <typename U>
  __host__ __device__ constexpr complex(const complex<U>& o) : re(o.re), im(o.im) {}
  __host__ __device__ constexpr T real() const { return re; }
  __host__ __device__ constexpr T imag() const { return im; }
};
#define TORCHLESS_THRUST(name) \
  template <typename T> \
  __host__ __device__ complex<T> name(const complex<T>& x);
TORCHLESS_THRUST(exp)
TORCHLESS_THRUST(log)
TORCHLESS_THRUST(log10)
TORCHLESS_THRUST(sqrt)
TORCHLESS_THRUST(sin)
TORCHLESS_THRUST(cos)
TORCHLESS_THRUST(tan)
TORCHLESS_THRUST(asin)
TORCHLESS_THRUST(acos)
TORCHLESS_THRUST(atan)
TORCHLESS_THRUST(sinh)
TORCHLESS_THRUST(cosh)
TORCHLESS_THRUST(tanh)
TORCHLESS_THRUST(asinh)
TORCHLESS_THRUST(acosh)
TORCHLESS_THRUST(atanh)
#undef TORCHLESS_THRUST
template <typename T>
__host__ __device__ T abs(const complex<T>& x);
template <typename T>
__host__ __device__ complex<T> polar(const T& r, const T& theta = T());
template <typename A, typename B>
__host__ __device__ auto pow(const complex<A>& x, const complex<B>& y) -> complex<decltype(A() * B())>;
template <typename A, typename B>
__host__ __device__ auto pow(const complex<A>& x, const B& y) -> complex<decltype(A() * B())>;
template <typename A, typename B>
__host__ __device__ auto pow(const A& x, const complex<B>& y) -> complex<decltype(A() * B())>;
}  // namespace thrust

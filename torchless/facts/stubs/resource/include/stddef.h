// Compiler header of our own: the libclang wheel ships none.
// glibc headers ask for single names through __need_*; a plain include defines them all.
#if !defined(__need_ptrdiff_t) && !defined(__need_size_t) && !defined(__need_wchar_t) && !defined(__need_NULL) && \
    !defined(__need_wint_t) && !defined(__need_max_align_t) && !defined(__need_offsetof)
#define __need_ptrdiff_t
#define __need_size_t
#define __need_wchar_t
#define __need_NULL
#define __need_max_align_t
#define __need_offsetof
#endif
#if defined(__need_ptrdiff_t)
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#undef __need_ptrdiff_t
#endif
#if defined(__need_size_t)
typedef __SIZE_TYPE__ size_t;
#undef __need_size_t
#endif
#if defined(__need_wchar_t)
#ifndef __cplusplus
typedef __WCHAR_TYPE__ wchar_t;
#endif
#undef __need_wchar_t
#endif
#if defined(__need_wint_t)
typedef __WINT_TYPE__ wint_t;
#undef __need_wint_t
#endif
#if defined(__need_NULL)
#undef NULL
#ifdef __cplusplus
#define NULL __null
#else
#define NULL ((void*)0)
#endif
#undef __need_NULL
#endif
#if defined(__need_max_align_t)
#ifndef __TORCHLESS_MAX_ALIGN_T
#define __TORCHLESS_MAX_ALIGN_T
typedef struct { long long __a __attribute__((__aligned__(__alignof__(long long)))); long double __b __attribute__((__aligned__(__alignof__(long double)))); } max_align_t;
#endif
#undef __need_max_align_t
#endif
#if defined(__need_offsetof)
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#undef __need_offsetof
#endif

// The compiler's own headers (which are ours) under the C library and libstdc++.
#include <limits.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdbool.h>
#include <float.h>
#include <inttypes.h>
#include <climits>
#include <cfloat>
#include <cstdarg>
#include <filesystem>
#include <regex>
#include <random>
#include <chrono>
#include <future>
#include <complex>
#include <bit>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

//# limits
char path[PATH_MAX];
static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && LLONG_MIN < 0 && CHAR_BIT == 8 && SHRT_MIN == -32768 && UCHAR_MAX == 255);

//# floats and fixed widths
static_assert(FLT_MAX > 1e38f && DBL_DIG == 15 && FLT_EPSILON < 1e-6f && INT64_MAX > 0 && UINT32_MAX == 4294967295u && sizeof(uint8_t) == 1);

//# types
static_assert(sizeof(max_align_t) >= 16 && offsetof(max_align_t, __b) >= 8);
std::nullptr_t nothing; ptrdiff_t distance; size_t size; wchar_t wide; FILE* file;
int sum(int n, ...) { va_list args; va_start(args, n); int v = va_arg(args, int); va_end(args); return v; }

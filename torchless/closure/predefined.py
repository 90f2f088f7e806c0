"""Macros that no file of the checkout defines: the compiler's, the build's, and those of headers outside of it.

The compiler is HIP's clang (``hipcc``); what it predefines was read from ``clang++ -x hip -dM -E``, for either pass.
The build is aiter's JIT in its default environment (``aiter/jit/core.py`` and ``aiter/jit/utils/cpp_extension.py``).
"""

from __future__ import annotations

import re
from functools import lru_cache

from torchless.closure.conditions import FUNCTION, MAYBE, OPAQUE, UNDEFINED, Value
from torchless.facts.spec import TuSpec


def _words(*lines: str) -> list[str]:
    return " ".join(lines).split()


# In both passes: the device pass has the host's system macros, too. What changes with the compiler's version is OPAQUE.
_ONES = _words(
    "__HIP__ __HIPCC__ __clang__ __llvm__ __AMD__ __AMDGPU__ __AMDGCN__ __linux__ __linux __gnu_linux__ __unix__",
    "__unix __x86_64__ __x86_64 __amd64__ __amd64 __LP64__ _LP64 __ELF__ _GNU_SOURCE __STDC__ __STDC_HOSTED__",
    "__EXCEPTIONS __GXX_WEAK__ __GXX_RTTI __DEPRECATED __GXX_EXPERIMENTAL_CXX0X__ __LITTLE_ENDIAN__ __MMX__",
    "__SSE__ __SSE2__ __STDCPP_THREADS__ __NO_INLINE__ __FLOAT128__ __STRICT_ANSI__",
)
_VARYING = _words(
    "__clang_major__ __clang_minor__ __clang_patchlevel__ __clang_version__ __VERSION__ __GNUC_MINOR__",
    "__GNUC_PATCHLEVEL__ __AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__ __FILE__ __LINE__ __DATE__ __TIME__",
    "__TIMESTAMP__ __COUNTER__ __INCLUDE_LEVEL__ __BASE_FILE__ __FILE_NAME__ __cpp_concepts __cpp_lambdas __cpp_rtti",
    "__cpp_exceptions __cpp_constexpr __cpp_if_constexpr __cpp_inline_variables __cpp_structured_bindings",
    "__cpp_fold_expressions __cpp_impl_coroutine",
)
_OPERATORS = _words(
    "__has_include __has_include_next __has_embed __has_cpp_attribute __has_c_attribute __has_attribute __has_builtin",
    "__has_declspec_attribute __has_constexpr_builtin __has_feature __has_extension __has_warning __is_identifier",
    "__building_module _Pragma",
)
_COMPILER: dict[str, Value] = {
    **dict.fromkeys(_ONES, "1"),
    **dict.fromkeys(_VARYING, OPAQUE),
    **dict.fromkeys(_OPERATORS, FUNCTION),
    "__cplusplus": "202002L",
    "__GNUC__": "4",
    "__GNUG__": "4",
    "__CHAR_BIT__": "8",
    "__SIZEOF_INT__": "4",
    "__SIZEOF_LONG__": "8",
    "__SIZEOF_LONG_LONG__": "8",
    "__SIZEOF_POINTER__": "8",
    "__SIZEOF_SIZE_T__": "8",
    "__SIZEOF_INT128__": "16",
    "__ORDER_LITTLE_ENDIAN__": "1234",
    "__ORDER_BIG_ENDIAN__": "4321",
    "__BYTE_ORDER__": "1234",
}
_BUILD: dict[str, Value] = {
    **dict.fromkeys(("WITH_HIP", "HIPBLAS_V2", "LEGACY_HIPBLAS_DIRECT", "CUDA_HAS_FP16", "USE_PROF_API"), "1"),
    **dict.fromkeys(("__HIP_PLATFORM_AMD__", "__HIP_PLATFORM_HCC__", "USE_ROCM"), "1"),
    "_GLIBCXX_USE_CXX11_ABI": "1",
    "ENABLE_ROPE_POSITIONS_INT32": "0",
    "TORCH_EXTENSION_NAME": OPAQUE,
    "TORCH_Float4_e2m1fn_x2": MAYBE,  # hangs on torch's version
}

# Names that this compiler never defines in these passes, and that no header for it does.
_NEVER = re.compile(
    r"__(?:CUDA_ARCH\w*|CUDACC\w*|NVCC__|CUDA__|NVCOMPILER|HIP_PLATFORM_NV\w+|HIP_CPU_RT__|HIPCC_RTC__|HCC__|HCC_\w+"
    r"|INTEL_\w+|ICC|SYCL_\w+|APPLE__|MINGW\w+|CYGWIN__|FreeBSD__|ANDROID__|EMSCRIPTEN__|arm__|aarch64__|ARM_\w+"
    r"|powerpc\w*|PPC\w*|riscv\w*|s390x?__|i386__|AVX\w*|SSE3__|SSSE3__|SSE4\w+|FMA__|F16C__|BMI2?__|OPENMP\w*"
    r"|BIG_ENDIAN__|OBJC__|wasm\w*)\Z"
    r"|_(?:MSC_VER|MSC_FULL_VER|MSVC_LANG|WIN32|WIN64|OPENMP|M_X64|M_IX86|DEBUG)\Z|WIN32\Z|NDEBUG\Z"
)
# The compiler keeps these names to itself; which of them it or a system header defines is not known here.
_RESERVED = re.compile(r"__|_[A-Z]")
# What headers outside of the checkout define, by the libraries whose headers are about.
_OUTSIDE = re.compile(
    r"(?:HIP|hip|ROC|roc|AMD_|CK_|CK_TILE|TORCH|AT_|C10_|CAFFE2|THC?_|PYBIND11|PY_|Py|FP_FAST|FMT_|GTEST|RCCL|NCCL|OPENSSL)"
    r"|(?:CHAR|SCHAR|UCHAR|SHRT|USHRT|INT|UINT|LONG|ULONG|LLONG|ULLONG|FLT|DBL|LDBL|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)"
    r"(?:_?(?:FAST|LEAST)?(?:8|16|32|64|PTR|MAX)?)_(?:MIN|MAX|BIT|WIDTH|C|DIG|EPSILON|MANT_DIG|RADIX)\Z"
    r"|M_[A-Z0-9_]+\Z|(?:NULL|EOF|BUFSIZ|NAN|INFINITY|HUGE_VALF?|HUGE_VALL|RAND_MAX|CHAR_BIT|PATH_MAX|CLOCKS_PER_SEC)\Z"
    r"|(?:PRI|SCN)[a-zX]\w*\Z|(?:assert|errno|offsetof|stdin|stdout|stderr)\Z"
)
_DEFINE = re.compile(r"([A-Za-z_$][\w$]*)(\(.*?\))?(?:=(.*))?\Z", re.S)


def macros_of(spec: TuSpec) -> dict[str, Value]:
    """The macros that are defined, or undefined, before the first line of a translation unit is read.

    A -D of the module goes before what the build says by default.
    """
    macros: dict[str, Value] = {**_COMPILER, **_BUILD, "ENABLE_CK": str(int(spec.enable_ck))}
    arch = spec.arch.partition(":")[0]
    macros["__HIP_DEVICE_COMPILE__"] = "1" if spec.device else UNDEFINED
    if spec.device:
        macros[f"__{arch}__"] = "1"
        macros[f"__GFX{arch.removeprefix('gfx')[:-2]}__"] = "1"
    if arch != "gfx942":
        macros["__Float4_e2m1fn_x2"] = "1"
    else:
        macros["__Float4_e2m1fn_x2"] = UNDEFINED
    if arch == "gfx1250":
        macros["AITER_ENABLE_CLUSTER_LAUNCH"] = "1"
    for define in spec.defines:
        match = _DEFINE.match(define)
        if match is not None:
            name, parameters, value = match.groups()
            macros[name] = FUNCTION if parameters else "1" if value is None else _unquoted(value)
    return macros


def _unquoted(value: str) -> str:
    """A value as the compiler gets it from the shell: \\"x\\" is a string there."""
    return value.strip("'").replace("\\", "")


@lru_cache(maxsize=1 << 14)
def outside(name: str) -> Value:
    """UNDEFINED for a name that nobody outside of the checkout defines, else MAYBE.

    Only for names that `macros_of` says nothing about. OPAQUE stands for a reserved name, which is MAYBE unless a file
    of the checkout has made it its own.
    """
    if _NEVER.match(name) or re.match(r"__(?:gfx\w+|GFX\w+)__\Z", name):
        return UNDEFINED
    if _RESERVED.match(name):
        return OPAQUE
    return MAYBE if _OUTSIDE.match(name) else UNDEFINED


_KNOWN_HEADER = re.compile(
    r"(?:hip|hiprand|hipcub|hipblas|hipblaslt|hipsparse|hipsolver|rocblas|rocsolver|rocprim|rocrand|rocm_smi|rccl|amd_\w+"
    r"|torch|ATen|c10|caffe2|TH|THC|THH|pybind11|ck|ck_tile|fmt|gtest|gmock|openssl|sys|bits|linux|cuda\w*|nccl\w*)/"
    r"|[a-z_0-9]+(?:\.h)?\Z|Python\.h\Z|cuda\w*\.h\Z"
)


@lru_cache(maxsize=1 << 12)
def is_known_header(spelled: str, angled: bool) -> bool:
    """Whether `outside` speaks for a header that is not in the checkout.

    Any other one, which a build step may write, could define whatever nobody in the checkout defines. A quoted name
    without a folder is such a one.
    """
    match = _KNOWN_HEADER.match(spelled)
    return match is not None and (angled or "/" in spelled)


# <format> is not in every libstdc++ that builds C++20.
_STANDARD = frozenset(
    _words(
        "algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes",
        "climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg",
        "cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem",
        "forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch",
        "limits list locale map memory memory_resource mutex new numbers numeric optional ostream queue random ranges",
        "ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept",
        "stop_token streambuf string string_view syncstream system_error thread tuple type_traits typeindex",
        "typeinfo unordered_map unordered_set utility valarray variant vector version",
        "assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h stdarg.h",
        "stddef.h stdint.h stdio.h stdlib.h string.h time.h uchar.h wchar.h wctype.h unistd.h fcntl.h dlfcn.h",
    )
)


def is_standard(spelled: str) -> bool:
    """Whether every compiler for this code has the header."""
    return spelled in _STANDARD

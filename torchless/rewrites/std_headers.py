"""Which standard header a name comes from, and which of them a file loses together with torch's headers.

torch/extension.h brings most of the standard library along, and pybind11. Once it is gone, each file must ask for
what it uses.
Source of the tables: the synopses of the C++20 standard library headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torchless.text.lexer import Kind, Token

# provided(header): does the rest of the file's include closure give that header? Spelled "<optional>".
Provided = Callable[[str], bool]

_STD = {
    "algorithm": "min max minmax clamp sort stable_sort partial_sort nth_element fill fill_n copy copy_n copy_if find"
    " find_if any_of all_of none_of transform max_element min_element minmax_element unique reverse lower_bound"
    " upper_bound binary_search equal count count_if for_each generate remove_if replace rotate",
    "any": "any any_cast",
    "array": "array to_array",
    "atomic": "atomic atomic_flag memory_order_relaxed memory_order_acquire memory_order_release",
    "bitset": "bitset",
    "chrono": "chrono",
    "cmath": "sqrt exp exp2 log log2 log10 pow ceil floor round trunc fabs fmax fmin fmod isnan isinf isfinite tanh sin"
    " cos tan sinh cosh asin acos atan atan2 lround cbrt hypot erf ldexp frexp",
    "complex": "complex",
    "condition_variable": "condition_variable",
    "cstdio": "printf fprintf snprintf sprintf fopen fclose fread fwrite puts",
    "cstdlib": "malloc calloc realloc free abort getenv exit atoi atol atof strtol strtoll strtoul system",
    "cstring": "memcpy memset memcmp memmove strlen strcmp strncmp strcpy strncpy strstr strcat strchr",
    "deque": "deque",
    "exception": "exception current_exception exception_ptr rethrow_exception terminate",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream fstream",
    "functional": "function hash less greater bind ref cref plus minus multiplies reference_wrapper equal_to",
    "initializer_list": "initializer_list",
    "iomanip": "setw setprecision setfill",
    "iostream": "cout cerr clog cin",
    "iterator": "back_inserter distance advance next prev ostream_iterator",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared addressof",
    "mutex": "mutex recursive_mutex lock_guard unique_lock scoped_lock call_once once_flag",
    "numeric": "accumulate iota gcd lcm inner_product partial_sum reduce inclusive_scan exclusive_scan",
    "optional": "optional nullopt nullopt_t make_optional",
    "ostream": "ostream endl flush",
    "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution normal_distribution",
    "set": "set multiset",
    "shared_mutex": "shared_mutex shared_lock",
    "span": "span",
    "sstream": "ostringstream stringstream istringstream",
    "stack": "stack",
    "stdexcept": "runtime_error invalid_argument logic_error out_of_range domain_error length_error overflow_error",
    "string": "string to_string stoi stol stoll stof stod stoul stoull getline",
    "string_view": "string_view",
    "thread": "thread this_thread",
    "tuple": "tuple make_tuple tie tuple_size tuple_size_v tuple_element tuple_element_t apply forward_as_tuple ignore",
    "type_traits": "is_same is_same_v conditional conditional_t enable_if enable_if_t decay decay_t remove_cv_t"
    " remove_reference_t remove_const_t remove_pointer_t remove_cvref_t is_integral_v is_floating_point_v"
    " is_arithmetic_v is_convertible_v is_base_of_v is_void_v is_const_v is_pointer_v true_type false_type"
    " integral_constant bool_constant void_t underlying_type_t make_unsigned_t make_signed_t"
    " is_trivially_copyable_v invoke_result_t common_type_t is_constant_evaluated add_const_t",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "pair make_pair move forward swap exchange declval index_sequence make_index_sequence integer_sequence"
    " make_integer_sequence index_sequence_for in_place as_const",
    "variant": "variant visit monostate holds_alternative get_if variant_size_v",
    "vector": "vector",
}
_FIXED_WIDTH = frozenset(
    f"{sign}int{kind}{bits}_t" for sign in ("", "u") for kind in ("", "_fast", "_least") for bits in (8, 16, 32, 64)
) | {"intptr_t", "uintptr_t", "intmax_t", "uintmax_t"}
# C names that are used without std::. Functions count only where they are called.
_C_FUNCTIONS = {
    "cassert": "assert",
    "cstdio": "printf fprintf snprintf sprintf fopen fclose puts",
    "cstdlib": "malloc calloc realloc getenv atoi atof strtol strtoll strtoul",
    "cstring": "memcpy memset memcmp memmove strlen strcmp strncmp strcpy strncpy strstr strcat strchr",
}
_C_NAMES = {
    "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
    "climits": "INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN CHAR_BIT SHRT_MAX",
    "cmath": "INFINITY NAN HUGE_VAL HUGE_VALF M_PI M_LOG2E M_LN2 M_SQRT2",
    "cstdint": "INT32_MAX INT32_MIN INT64_MAX INT64_MIN UINT32_MAX UINT64_MAX INT16_MAX UINT8_MAX INT8_MAX",
    "cstdio": "stderr stdout",
}
# Headers that hold another one's content in every standard library, and every HIP, in use.
_IMPLIED = {
    **dict.fromkeys(("cassert", "cmath", "cstdint", "cstdio", "cstdlib"), ("hip/hip_runtime.h",)),
    "exception": ("stdexcept",),
    "initializer_list": ("vector", "string", "algorithm", "utility", "map", "unordered_map", "set"),
    "ostream": ("iostream", "sstream", "fstream"),
    "string": ("sstream", "iostream", "fstream", "stdexcept"),
    "type_traits": ("utility", "algorithm", "vector", "string", "memory", "tuple", "optional", "functional", "array"),
    "utility": ("algorithm", "vector", "string", "memory", "tuple", "optional", "functional", "map", "unordered_map"),
}


# A module's registration needs the casters of std types too, and nothing reports it when they are missing.
_REGISTRATION = {"PYBIND11_MODULE": ("<pybind11/pybind11.h>", "<pybind11/stl.h>")}


def _index(table: dict[str, str]) -> dict[str, str]:
    return {name: header for header, names in table.items() for name in names.split()}


_STD_HEADER = _index(_STD)
_C_FUNCTION_HEADER = _index(_C_FUNCTIONS)
_C_NAME_HEADER = {**_index(_C_NAMES), **dict.fromkeys(_FIXED_WIDTH, "cstdint")}


@dataclass(frozen=True, slots=True, order=True)
class StandardUse:
    """A standard header ("<optional>") and the names of it that are used, sorted."""

    header: str
    names: tuple[str, ...]


def used_headers(tokens: Sequence[Token]) -> list[StandardUse]:
    """The standard headers that the code tokens ask for by name, sorted by header."""
    found: dict[str, set[str]] = {}
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.directive in ("include", "error", "warning"):
            continue
        name = token.text.decode("latin-1")
        header = _header_of(tokens, i, name)
        for needed in _REGISTRATION.get(name, (f"<{header}>",) if header else ()):
            found.setdefault(needed, set()).add(name)
    return [StandardUse(header, tuple(sorted(names))) for header, names in sorted(found.items())]


def headers_of_names(std: Iterable[str], bare: Iterable[str]) -> list[StandardUse]:
    """The standard headers of ``std``, names behind std::, and of ``bare`` ones, sorted by header.

    What a bare name is, a call or a variable, is not known: there may be a header too many.
    """
    found: dict[str, set[str]] = {}
    for name in std:
        header = _STD_HEADER.get(name) or _C_NAME_HEADER.get(name, "")
        if header:
            found.setdefault(f"<{header}>", set()).add(name)
    for name in bare:
        header = _C_FUNCTION_HEADER.get(name) or _C_NAME_HEADER.get(name, "")
        if header:
            found.setdefault(f"<{header}>", set()).add(name)
    return [StandardUse(header, tuple(sorted(names))) for header, names in sorted(found.items())]


def _header_of(tokens: Sequence[Token], i: int, name: str) -> str:
    before = tokens[i - 1].text if i else b""
    if before == b"::":
        if (
            i >= 2
            and tokens[i - 2].text == b"std"
            and (i < 3 or tokens[i - 3].text != b"::" or _is_global(tokens, i - 3))
        ):
            return _STD_HEADER.get(name) or _C_NAME_HEADER.get(name, "")
        return ""
    if before in (b".", b"->"):
        return ""
    if name in _C_FUNCTION_HEADER:
        called = i + 1 < len(tokens) and tokens[i + 1].text == b"("
        declared = i and (tokens[i - 1].kind is Kind.NAME and before not in (b"return", b"else", b"do"))
        return _C_FUNCTION_HEADER[name] if called and not declared else ""
    return _C_NAME_HEADER.get(name, "")


def _is_global(tokens: Sequence[Token], index: int) -> bool:
    """True for the :: at ``index`` when nothing qualifies it: ``::std::x``."""
    return index == 0 or tokens[index - 1].kind is not Kind.NAME or tokens[index - 1].text in (b"return", b"const")


def is_given(header: str, provided: Provided) -> bool:
    """True when ``provided`` gives the header, or one that holds its content."""
    return provided(header) or any(provided(f"<{h}>") for h in _IMPLIED.get(header.strip("<>"), ()))


def lost_headers(tokens: Sequence[Token], provided: Provided) -> list[StandardUse]:
    """What ``used_headers`` names and the rest of the closure does not give."""
    return [use for use in used_headers(tokens) if not is_given(use.header, provided)]

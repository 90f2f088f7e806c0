"""Facts about C++ files, as the parsers hand them on. Frozen, picklable, small.

A *type class* is a short word for what a type is to the rules, see TYPE_CLASSES; any other type has class "".
A *canonical name* is a qualified name in which ``torch::``, ``at::`` and ``c10::`` are all written ``at::``,
inline and detail namespaces are dropped and the leading ``::`` is gone: ``at::Tensor``, ``at::ScalarType::Half``,
``at::Tensor::size``.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchless.facts.spec import TuSpec as TuSpec

# The classes that rules may ask for. References and const are stripped first.
TYPE_CLASSES = frozenset(
    {
        "tensor",  # at::Tensor (and TensorBase)
        "optional_tensor",  # std::optional / c10::optional of one
        "tensor_pointer",  # at::Tensor*
        "tensor_list",  # vector / ArrayRef / initializer_list of one
        "dtype",  # at::ScalarType
        "optional_dtype",
        "typemeta",  # caffe2::TypeMeta, what Tensor::dtype() gives
        "options",  # at::TensorOptions
        "int_array",  # at::IntArrayRef and SymIntArrayRef
        "device",  # at::Device
        "device_type",
        "stream",  # at::hip::HIPStream and its twins
        "generator",  # at::Generator, optional or not
        "half",  # at::Half
        "bfloat16",  # at::BFloat16
        "scalar",  # at::Scalar
        "target_tensor",  # the target's own tensor (aiter_tensor_t)
    }
)


@dataclass(frozen=True, slots=True, order=True)
class NameFact:
    """What the name token at ``offset`` refers to.

    kind: "type" (a type name), "value" (variable, enumerator, function), "member" (a member name after . or ->),
    "var" / "param" / "field" (the name in a declaration), "capture" (a lambda capture), "call" (beside "value" or
    "member": what calling the function gives).
    name: canonical name of the entity referred to ("" when local and uninteresting).
    type: type class of the value named; for a "member" it is the class of what stands before the . or ->, and a data
    member of a classed type has a "value" beside it; for a "type" the class of the type itself; for a "call" the class
    of the result; "" for a function's "value".
    """

    offset: int
    kind: str
    name: str
    type: str


@dataclass(frozen=True, slots=True, order=True)
class ParamFact:
    """A parameter: name ("" when unnamed), type class, spelled type, and the range of the whole declarator."""

    name: str
    type: str
    spelled: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class FunctionFact:
    """A function declaration or definition seen by the parser.

    start/end cover the whole declaration; name_start is the offset of its unqualified name; body_start/body_end is
    the range of the braces with them, or (-1, -1) for a declaration. ``launches`` is true when the body launches
    a kernel itself (<<<...>>>, hipLaunchKernel, hipModuleLaunchKernel and their kin). ``returns`` is the type class of
    the return type, ``returns_spelled`` its text.
    """

    path: str
    start: int
    end: int
    name: str
    name_start: int
    body_start: int
    body_end: int
    params: tuple[ParamFact, ...]
    returns: str
    returns_spelled: str
    is_template: bool
    is_extern_c: bool
    is_kernel: bool
    launches: bool


@dataclass(frozen=True, slots=True, order=True)
class IncludeFact:
    """An #include directive in ``path`` at ``offset`` (of the #); ``resolved`` is "" when it was not found.

    ``resolved`` is root-relative for files of the checkout, else "<stubs>/torch/all.h" or an absolute path.
    """

    path: str
    offset: int
    spelled: str
    resolved: str


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """A compiler diagnostic. severity: 2 warning, 3 error, 4 fatal (libclang's numbers). line is 1-based."""

    path: str
    offset: int
    line: int
    severity: int
    category: int
    message: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts of one file as seen by one translation unit, or merged over several."""

    path: str
    names: tuple[NameFact, ...] = ()
    functions: tuple[FunctionFact, ...] = ()


@dataclass(frozen=True, slots=True)
class TuFacts:
    """The result of parsing one translation unit in one pass."""

    spec: TuSpec
    files: tuple[FileFacts, ...] = ()
    includes: tuple[IncludeFact, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    opened: tuple[str, ...] = ()  # every file that was read, resolved as in IncludeFact
    failure: str = ""  # why there are no facts at all (a crash, a timeout), "" when it went well
    seconds: float = 0.0  # CPU seconds in the worker
    notes: tuple[str, ...] = ()  # what went otherwise than planned, e.g. that a precompiled header was not used

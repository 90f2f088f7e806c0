"""What a checkout holds, as read from its files. Frozen data; paths are root-relative with forward slashes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Module:
    """An entry of the JIT configuration: sources that become one shared object."""

    name: str
    sources: tuple[str, ...]
    include_dirs: tuple[str, ...] = ()
    enable_ck: bool = True
    defines: tuple[str, ...] = ()
    torch_exclude: bool = False
    missing_sources: tuple[str, ...] = ()
    has_generator: bool = False  # blob_gen_cmd prints further sources
    generators: tuple[str, ...] = ()  # the scripts of the checkout that it runs
    entry_start: int = -1  # byte range of the entry in the configuration, from the key's quote to the value's last byte
    entry_end: int = -1
    unread: tuple[str, ...] = ()  # expressions of the entry that were not interpreted, as spelled
    vendored_sources: tuple[str, ...] = ()  # sources in third-party folders: built with the others, never edited


@dataclass(frozen=True, slots=True)
class OpParam:
    """A parameter of a Python op: name, annotation text, default text ("" when none)."""

    name: str
    annotation: str
    default: str


@dataclass(frozen=True, slots=True)
class PyOp:
    """A function under @compile_ops. start/end: byte range of the decorator from @ to its last token.

    ``fc_name`` is the bound name (the function's own name where the decorator gives none). ``module`` is the text of
    the module name, resolved through a module-level constant where that was possible, else "".
    """

    path: str
    function: str
    module: str
    fc_name: str
    start: int
    end: int
    line: int
    develop: bool
    ffi_type: str
    params: tuple[OpParam, ...]
    returns: str
    has_gen_func: bool = False
    has_gen_fake: bool = False


@dataclass(frozen=True, slots=True)
class BindingArg:
    """A py::arg of a row: name, default text ("" when none), and the byte range of the default's text."""

    name: str
    default: str
    default_start: int = -1
    default_end: int = -1


@dataclass(frozen=True, slots=True)
class BindingRow:
    """An m.def(...) row. target: the C++ name as spelled after & ("" for a lambda). macro: enclosing #define or ""."""

    path: str
    start: int
    end: int
    name: str
    target: str
    args: tuple[BindingArg, ...]
    macro: str
    line: int


@dataclass(frozen=True, slots=True)
class BindingMacro:
    """A #define X_PYBIND whose body registers rows. body_start/body_end: byte range of the replacement list."""

    name: str
    path: str
    start: int
    body_start: int
    body_end: int
    rows: tuple[BindingRow, ...]
    has_stream_setter: bool  # spelled out in the body itself, not in a macro that it expands
    expands: tuple[str, ...] = ()  # other binding macros named in the body


@dataclass(frozen=True, slots=True)
class BindingTu:
    """A source with PYBIND11_MODULE: the macros it expands, its own rows, and the range of its body's braces.

    ``variable`` is the name of the module object, nearly always "m".
    """

    path: str
    macros: tuple[str, ...]
    rows: tuple[BindingRow, ...]
    body_start: int
    has_stream_setter: bool  # spelled out in the body itself, not in a macro that it expands
    body_end: int = -1
    variable: str = "m"


@dataclass(frozen=True, slots=True)
class Project:
    """Everything that was read from a checkout."""

    root: str  # absolute
    is_aiter: bool
    modules: tuple[Module, ...] = ()
    sources: tuple[str, ...] = ()  # every C++ source below the roots asked for
    headers: tuple[str, ...] = ()
    ops: tuple[PyOp, ...] = ()
    binding_macros: tuple[BindingMacro, ...] = ()
    binding_tus: tuple[BindingTu, ...] = ()
    include_dirs: tuple[str, ...] = ()  # of every module
    target_names: frozenset[str] = field(default_factory=frozenset)  # macros and functions the target headers offer
    target_headers: frozenset[str] = field(default_factory=frozenset)
    problems: tuple[tuple[str, str], ...] = ()  # (path, one-line message)
    config_path: str = ""  # the JIT configuration, "" in a plain folder
    csrc: str = ""  # the folder that AITER_CSRC_DIR names: "csrc", or "aiter_meta/csrc" in a wheel
    ck_dir: str = ""  # composable_kernel, when its headers are there
    op_parameters: frozenset[str] = field(default_factory=frozenset)  # what this checkout's compile_ops accepts
    further_names: tuple[tuple[str, str], ...] = ()  # (hard link, the name of its file that is used everywhere else)
    printed: tuple[tuple[str, bytes], ...] = ()  # sources that are no files: C++ in the strings of generators

"""The text of the cache, and the edits that use it."""

from __future__ import annotations

from collections.abc import Sequence

from torchless.model import Edit
from torchless.rewrites.workspaces.find import Workspace
from torchless.text.lexer import Token
from torchless.text.source import SourceFile

NAME = "StreamWorkspace"
HEADERS = ("<cstddef>", "<map>", "<mutex>", "<stdexcept>", "<string>", "<utility>")
_TEMPLATE = """\
// Device memory that is kept between calls: it grows on demand, each stream of each device has its own.
class {name}
{{
public:
    // At least `bytes` bytes that work on `stream` may use. While a graph is captured nothing is allocated: call once
    // with the same sizes on the same stream before the capture.
    void* get(std::size_t bytes, hipStream_t stream)
    {{
        int device                    = 0;
        hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
        check(hipGetDevice(&device));
        check(hipStreamIsCapturing(stream, &status));
        const bool capturing = status != hipStreamCaptureStatusNone;
        const std::lock_guard<std::mutex> lock(mutex_);
        Buffer& buffer = buffers_[std::make_pair(device, stream)];
        if(buffer.bytes < bytes)
        {{
            if(capturing)
                throw std::runtime_error("a workspace of " + std::to_string(bytes) +
                                         " bytes cannot be allocated while a graph is captured: "
                                         "call this once on the same stream before the capture");
            // a graph goes on using the memory that it was captured with
            if(buffer.data != nullptr && !buffer.captured)
                check(hipFree(buffer.data));
            buffer = Buffer{{}};
            const std::size_t step    = std::size_t{{4}} << 20;
            const std::size_t rounded = (bytes + step - 1) / step * step;
            check(hipMalloc(&buffer.data, rounded));
            buffer.bytes = rounded;
        }}
        buffer.captured = buffer.captured || capturing;
        return buffer.data;
    }}

private:
    struct Buffer
    {{
        void* data        = nullptr;
        std::size_t bytes = 0;
        bool captured     = false;
    }};

    static void check(hipError_t error)
    {{
        if(error != hipSuccess)
            throw std::runtime_error(std::string("workspace: ") + hipGetErrorString(error));
    }}

    std::mutex mutex_;
    std::map<std::pair<int, hipStream_t>, Buffer> buffers_;
}};
"""


def cache_edits(
    source: SourceFile, tokens: list[Token], place: int, found: Sequence[Workspace], code: str
) -> list[Edit]:
    """The edits that have each of ``found`` taken from a cache, whose class goes to the line that starts at ``place``.

    Include lines are not among them.
    """
    eol = source.eol_at(0)
    text = _TEMPLATE.format(name=NAME).encode().replace(b"\n", eol) + eol
    out = [Edit(source.path, place, place, text, code)]
    for one in found:
        out += _calls(source, tokens, one, code, eol)
    return out


def _calls(source: SourceFile, tokens: list[Token], one: Workspace, code: str, eol: bytes) -> list[Edit]:
    first, last = one.allocation
    start, end = tokens[first].start, tokens[last].end
    line = source.line_start(source.line_of(start))
    indent = source.data[line:start] if not source.data[line:start].strip() else b""
    size = source.data[tokens[one.size[0]].start : tokens[one.size[1]].end].decode("latin-1")
    cache = f"{one.pointer}_cache"
    taken = f"{cache}.get({size}, {one.stream})"
    value = taken if one.type == "void" else f"static_cast<{one.type}*>({taken})"
    text = f"static {NAME} {cache};".encode() + eol + indent + f"{one.pointer} = {value};".encode("latin-1")
    return [Edit(source.path, start, end, text, code), *frees_edits(source, tokens, one, code)]


def frees_edits(source: SourceFile, tokens: list[Token], one: Workspace, code: str) -> list[Edit]:
    """The edits that take the statements out which free ``one``, with their lines where they stand alone."""
    out = []
    for free in one.frees:
        a, b = tokens[free[0]].start, tokens[free[1]].end
        begin = source.line_start(source.line_of(a))
        newline = source.data.find(b"\n", b)
        blank = b + len(source.data[b:newline]) - len(source.data[b:newline].lstrip(b" \t")) if newline >= 0 else b
        alone = not source.data[begin:a].strip() and newline >= 0 and not source.data[b:newline].strip()
        out.append(Edit(source.path, begin if alone else a, newline + 1 if alone else blank, b"", code))
    return out

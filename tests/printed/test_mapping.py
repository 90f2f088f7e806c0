"""An edit of printed C++ is made in the script so that the script prints the edited C++."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.model import Edit, Finding
from torchless.printed.mapping import edited_scripts, edits_in_script, finding_in_script, spans_in
from torchless.printed.sources import Printed, printed_by
from torchless.text.edits import apply
from torchless.text.source import SourceFile

SCRIPT = dedent(
    '''\
    def make(k, tuned):
        whole = f"""// \u00e9
    torch::Tensor {k.name}(torch::Tensor& x)
    {{{{
        {{body}}
        {{body}}
    }}}}
    """
        body = "check(x, " f'"{k.what}"' r"\\n);" "\\n"
        return whole.format(body=body)
    '''
)


def printed(text: str = SCRIPT) -> Printed:
    (found,) = printed_by(SourceFile("gen.py", text.encode()), lambda data: b"torch::" in data)
    return found


def edited(source: Printed, *edits: Edit) -> str | bytes:
    made = edited_scripts({source.path: source}, {source.path: edits})["gen.py"]
    return made if isinstance(made, str) else apply(source.script.data, made)


def edit(source: Printed, old: bytes, new: bytes, count: int = 1) -> list[Edit]:
    """Edits of the first ``count`` places where ``old`` stands."""
    edits, at = [], -1
    for _ in range(count):
        at = source.template.code.index(old, at + 1)
        edits.append(Edit(source.path, at, at + len(old), new))
    return edits


def test_an_edit_of_the_template() -> None:
    source = printed()
    text = edited(source, *edit(source, b"torch::Tensor&", b"aiter_tensor_t&"))
    assert text == SCRIPT.replace("torch::Tensor&", "aiter_tensor_t&").encode()


def test_new_text_is_spelled_as_its_literal_asks() -> None:
    source = printed()
    text = edited(source, *edit(source, b"torch::Tensor&", b'std::array<int, 1>{1} "\\n"&'))
    assert isinstance(text, bytes)
    assert b'std::array<int, 1>{{{{1}}}} "\\\\n"&' in text


def test_a_string_that_goes_in_twice_changes_once_where_both_places_agree() -> None:
    source = printed()
    both = edit(source, b"check(x", b"test(x", 2)
    assert edited(source, *both) == SCRIPT.replace("check(x", "test(x").encode()
    alone = edited(source, both[0])
    assert isinstance(alone, str)
    assert "several places" in alone


def test_an_edit_across_literals_keeps_what_is_between_them() -> None:
    source = printed()
    text = edited(source, *edit(source, b'x, "', b"y", 2))
    assert isinstance(text, bytes)
    assert b"""body = "check(y" f'{k.what}"' r""" in text


def test_a_hole_stays_where_the_new_text_names_it() -> None:
    source = printed()
    name = source.template.code.split(b"(")[0].split()[-1]
    text = edited(source, *edit(source, b"torch::Tensor " + name + b"(", b"void " + name + b"("))
    assert text == SCRIPT.replace("torch::Tensor {k.name}(", "void {k.name}(").encode()


def test_what_cuts_a_hole_or_loses_it_is_not_written() -> None:
    source = printed()
    start = source.template.code.index(b"torchless_hole_")
    inside = Edit(source.path, start + 3, start + 5, b"x")
    whole = Edit(source.path, start, start + len(b"torchless_hole_function"), b"x")
    assert edits_in_script(source, inside) is None
    assert edits_in_script(source, whole) is None
    assert edits_in_script(source, Edit(source.path, 0, 0, b"torchless_hole_7")) is None
    message = edited(source, whole)
    assert isinstance(message, str) and "line 3" in message


LINES = '''
def make(k):
    body = """run(x);
"""
    return f"""torch::Tensor f(torch::Tensor& x)
{{{{
    {body}
    return x;
}}}}
"""
'''


def test_the_line_on_which_another_string_is_put_in_keeps_its_end() -> None:
    source = printed(LINES)
    code = source.template.code
    start, end = code.index(b"\n    return x;"), code.index(b"\n}")  # a blank line in the C++, and the statement
    assert edited(source, Edit(source.path, start, end, b"")) == LINES.replace("    return x;\n", "\n").encode()
    first = code.index(b"torch")
    whole = Edit(source.path, first, code.index(b"{"), b"")  # not behind another string: nothing is kept
    assert edited(source, whole) == LINES.replace("torch::Tensor f(torch::Tensor& x)\n", "").encode()


def test_findings_are_told_where_the_script_spells_the_text() -> None:
    source = printed()
    start = source.template.code.index(b"torch::Tensor&")
    finding = finding_in_script({source.path: source}, Finding("TL201", "m", source.path, start, start + 14))
    assert (finding.path, SCRIPT.encode()[finding.start : finding.end]) == ("gen.py", b"torch::Tensor&")
    elsewhere = Finding("TL201", "m", "a.cu", 1, 2)
    assert finding_in_script({source.path: source}, elsewhere) is elsewhere


def test_what_is_looked_at_are_the_strings() -> None:
    source = printed()
    data = source.script.data
    texts = [data[start:end] for start, end in spans_in({source.path: source}, "gen.py")]
    assert any(b"torch::Tensor {k.name}" in text for text in texts)
    assert all(b"def make" not in text for text in texts)
    assert spans_in({source.path: source}, "other.py") == []


NEW = st.text(alphabet="ab{}\\\"'%\n \u00e9", max_size=8).map(str.encode)


@settings(deadline=None)
@given(st.data())
def test_whatever_is_written_is_what_is_printed(data: st.DataObject) -> None:
    source = printed(SCRIPT.replace("    {{body}}\n", "", 1))
    code = source.template.code
    start = data.draw(st.integers(0, len(code)))
    end = data.draw(st.integers(start, min(len(code), start + 12)))
    made = Edit(source.path, start, end, data.draw(NEW))
    text = edited(source, made)
    if isinstance(text, bytes):
        (after,) = printed_by(SourceFile("gen.py", text), lambda code: b"Tensor" in code or b"check" in code)
        wanted = [apply(code, [made])]
        if not made.new and code[start : start + 1] == b"\n" and end > start + 1:
            wanted.append(apply(code, [replace(made, start=start + 1)]))  # the script puts a line end in there
        assert after.template.code in wanted

"""Which functions launch, and which need no guard above them."""

from __future__ import annotations

from collections.abc import Mapping

from torchless.facts.model import FileFacts, FunctionFact
from torchless.facts.typing import FileView, make_view
from torchless.plan.launching import Launching, find_launching
from torchless.text.source import SourceFile
from torchless.units.entities import EntityIndex, entities_of


def found(files: Mapping[str, str]) -> Launching:
    """What is launching in ``files``, whose functions start with ``void`` and end in a line with a brace."""
    views: dict[str, FileView] = {}
    functions: dict[str, list[FunctionFact]] = {}
    for path, text in files.items():
        facts = []
        at = text.find("void ")
        while at >= 0:
            end = text.index("\n}", at) + 2
            opener, name_at = text.index("{", at), at + 5
            name = text[name_at : text.index("(", at)]
            launches = "<<<" in text[at:end]
            facts.append(
                FunctionFact(path, at, end, name, name_at, opener, end, (), "", "void", False, False, False, launches)
            )
            at = text.find("void ", end)
        views[path] = make_view(SourceFile(path, text.encode()), [FileFacts(path, (), tuple(facts))])
        for fact in facts:
            functions.setdefault(fact.name, []).append(fact)
    entities = [e for view in views.values() for e in entities_of(view)]
    return find_launching(functions, views, EntityIndex(entities))


RUN = "void run(float* p)\n{\n    k<<<1, 1>>>(p);\n}\n"
GUARDED = "void run(float* p)\n{\n    HipDeviceGuard guard(0);\n    k<<<1, 1>>>(p);\n}\n"
CALLERS = "#define RUN(p) run(p)\nvoid entry(float* p)\n{\n    RUN(p);\n}\n"


def test_calls_are_followed_backwards_through_macros() -> None:
    assert found({"a.cu": RUN + CALLERS}).launch == {"run", "RUN", "entry"}


def test_what_guards_itself_makes_no_launcher_of_its_callers() -> None:
    launching = found({"a.cu": GUARDED + CALLERS})
    assert launching.launch == {"run"}
    assert launching.guard == {"run"}


def test_one_of_a_name_without_a_guard_is_enough_to_need_one() -> None:
    launching = found({"a.cu": GUARDED + CALLERS, "b.cu": RUN})
    assert launching.launch == {"run", "RUN", "entry"}
    assert launching.guard == set()

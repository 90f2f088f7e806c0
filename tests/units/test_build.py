"""What must move together, and what need not."""

from __future__ import annotations

from tests.units.conftest import Join
from torchless.units.build import why_joined

DECLARED = "void f(torch::Tensor& x);\n"
DEFINED = "void f(torch::Tensor& x) { x; }\n"


def test_a_declaration_and_its_definition_are_one_unit(join: Join) -> None:
    seen = join({"f.h": DECLARED, "f.cu": DEFINED}, {"f.cu": ["f.h"]})
    assert seen.together(("f.h", "f("), ("f.cu", "f("))
    assert [g.name for g in seen.grouping.groups] == ["f.cu:f"]


def test_a_definition_that_does_not_see_its_declaration_joins_through_the_module(join: Join) -> None:
    files = {"f.h": DECLARED, "f.cu": DEFINED, "bind.cu": "void g();\n"}
    apart = join(files, {"bind.cu": ["f.h"]})
    assert not apart.together(("f.h", "f("), ("f.cu", "f("))
    linked = join(files, {"bind.cu": ["f.h"]}, modules={"m": ["f.cu", "bind.cu"]})
    assert linked.together(("f.h", "f("), ("f.cu", "f("))


def test_same_named_functions_of_two_sources_have_nothing_to_do_with_each_other(join: Join) -> None:
    text = "static void launch(torch::Tensor& x) { x; }\nvoid {0}(torch::Tensor& x) { launch(x); }\n"
    files = {"common.h": "int columns();\n", "a.cu": text.replace("{0}", "a"), "b.cu": text.replace("{0}", "b")}
    seen = join(files, {"a.cu": ["common.h"], "b.cu": ["common.h"]})
    assert seen.together(("a.cu", "launch("), ("a.cu", "a("))
    assert seen.together(("b.cu", "launch("), ("b.cu", "b("))
    assert not seen.together(("a.cu", "launch("), ("b.cu", "launch("))


def test_everything_touched_in_a_source_is_one_unit(join: Join) -> None:
    text = "void f(torch::Tensor& x) { x; }\nvoid g(torch::Tensor& x) { x; }\nvoid untouched(int x) { x; }\n"
    seen = join({"a.cu": text + "using T = torch::Tensor;\nextern torch::Tensor global;\n"})
    assert seen.together(("a.cu", "f("), ("a.cu", "g("), ("a.cu", "T ="), ("a.cu", "global"))
    assert seen.unit("a.cu", "untouched(") is None


MACRO = "#define CHECK(x) torch::Tensor(x)\n#define OTHER(x) torch::Tensor(x)\n"


def test_a_macro_joins_its_users_and_its_users_each_other(join: Join) -> None:
    files = {
        "check.h": MACRO,
        "a.cu": "void f(torch::Tensor& x) { CHECK(x); }\n",
        "b.cu": "void g(torch::Tensor& x) { CHECK(x); }\n",
    }
    seen = join(files, {"a.cu": ["check.h"], "b.cu": ["check.h"]})
    assert seen.together(("check.h", "CHECK("), ("a.cu", "f("), ("b.cu", "g("))
    assert not seen.together(("check.h", "CHECK("), ("check.h", "OTHER("))
    assert why_joined(seen.grouping, "f", "g") == [
        "f (a.cu) -- f uses CHECK -- CHECK (check.h)",
        "CHECK (check.h) -- g uses CHECK -- g (b.cu)",
    ]


def test_an_operator_is_used_where_its_class_is_named(join: Join) -> None:
    header = "inline void show::operator()(torch::Tensor t) {\n}\ninline void hide::operator()(torch::Tensor u) {\n}\n"
    files = {"show.h": header, "a.cu": "void f(torch::Tensor& x) { show()(x); }\n"}
    seen = join(files, {"a.cu": ["show.h"]})
    assert seen.together(("show.h", "Tensor t"), ("a.cu", "f("))
    assert not seen.together(("show.h", "Tensor u"), ("a.cu", "f("))


def test_a_user_without_torch_joins_what_it_uses(join: Join) -> None:
    """Its text stays, but it must be ready for what becomes of the macro."""
    seen = join({"check.h": MACRO, "a.cu": "void f(int x) { CHECK(x); OTHER(x); }\n"}, {"a.cu": ["check.h"]})
    assert seen.together(("check.h", "CHECK("), ("check.h", "OTHER("))
    assert seen.unit("a.cu", "f(") is None


def test_a_name_that_an_edit_replaces_ties_nothing(join: Join) -> None:
    files = {"check.h": MACRO, "a.cu": "void f(torch::Tensor& x) { my::CHECK(x); }\n"}
    closures = {"a.cu": ["check.h"]}
    places = (("check.h", "CHECK("), ("a.cu", "f("))
    assert join(files, closures).together(*places)
    for old, new in (("CHECK", "CHECK_rmTorch"), ("my::CHECK", "MY_CHECK"), ("my::CHECK(x);", "")):
        assert not join(files, closures, edits=[("a.cu", old, new)]).together(*places), new
    # written again, it is still used
    assert join(files, closures, edits=[("a.cu", "my::CHECK(x)", "CHECK(x, 1)")]).together(*places)
    # what replaces another name cuts nothing
    assert join(files, closures, edits=[("a.cu", "my::", "your::")]).together(*places)


def test_headers_that_no_source_reaches_together_have_nothing_in_common(join: Join) -> None:
    files = {
        "a.h": "void helper(torch::Tensor& x);\n",
        "b.h": "void user(torch::Tensor& x) { helper(x); }\n",
        "a.cu": "int a;\n",
        "b.cu": "int b;\n",
    }
    assert not join(files, {"a.cu": ["a.h"], "b.cu": ["b.h"]}).together(("a.h", "helper"), ("b.h", "user"))
    assert join(files, {"a.cu": ["a.h", "b.h"]}).together(("a.h", "helper"), ("b.h", "user"))


def test_functions_of_a_header_move_one_by_one_until_a_type_joins_them(join: Join) -> None:
    header = "void f(torch::Tensor& x);\nvoid g(torch::Tensor& x);\n#define M(x) torch::Tensor(x)\n"
    apart = join({"h.h": header, "a.cu": "int x;\n"}, {"a.cu": ["h.h"]})
    assert len(apart.grouping.groups) == 3
    for level in ("struct Args { torch::Tensor x; };\n", "extern torch::Tensor global;\n"):
        seen = join({"h.h": header + level, "a.cu": "int x;\n"}, {"a.cu": ["h.h"]})
        assert seen.together(("h.h", "f("), ("h.h", "g("), ("h.h", "M("), ("h.h", level[:6]))


def test_a_type_without_torch_joins_nothing(join: Join) -> None:
    header = "void f(torch::Tensor& x);\nvoid g(torch::Tensor& x);\nstruct Args { int x; };\n"
    assert len(join({"h.h": header, "a.cu": "int x;\n"}, {"a.cu": ["h.h"]}).grouping.groups) == 2


def test_a_type_joins_the_sources_that_name_it(join: Join) -> None:
    files = {
        "args.h": "struct Args { torch::Tensor x; };\n",
        "a.cu": "void f(torch::Tensor& x) { Args a; }\n",
        "b.cu": "void g(torch::Tensor& x) { x; }\n",
    }
    seen = join(files, {"a.cu": ["args.h"], "b.cu": ["args.h"]})
    assert seen.together(("args.h", "Args"), ("a.cu", "f("))
    assert not seen.together(("args.h", "Args"), ("b.cu", "g("))


def test_a_foreign_header_ties_nothing(join: Join) -> None:
    files = {
        "target.h": MACRO + "void f(torch::Tensor& x);\n",
        "a.cu": "void f(torch::Tensor& x) { CHECK(x); }\n",
        "b.cu": "void g(torch::Tensor& x) { CHECK(x); f(x); }\n",
    }
    seen = join(files, {"a.cu": ["target.h"], "b.cu": ["target.h"]}, foreign=["target.h"])
    assert not seen.together(("a.cu", "f("), ("b.cu", "g("))
    assert not seen.together(("a.cu", "f("), ("target.h", "f("))
    assert seen.unit("target.h", "CHECK(") is not None  # it is known all the same


BOUND = {
    "f.h": "void f(torch::Tensor& x);\nvoid other(torch::Tensor& x);\n",
    "f.cu": "void f(torch::Tensor& x) { x; }\n",
    "second.cu": "void second(torch::Tensor& x) { x; }\n",
    "bind.cu": "int bind;\n",
    "lone.cu": "void lone(torch::Tensor& x) { x; }\n",
}


def test_a_module_joins_what_it_binds_and_its_sources(join: Join) -> None:
    seen = join(
        BOUND,
        {"f.cu": ["f.h"], "bind.cu": ["f.h"], "lone.cu": ["f.h"]},
        modules={"m": ["bind.cu", "f.cu", "second.cu"]},
        bindings={"bind.cu": ["ns::f", "ns::second"]},
    )
    assert seen.together(("f.h", "f("), ("f.cu", "f("), ("second.cu", "second("))
    assert not seen.together(("f.h", "other("), ("f.cu", "f("))
    assert not seen.together(("lone.cu", "lone("), ("f.cu", "f("))
    unit = seen.group("m")
    assert (unit.modules, unit.entry_points) == (("m",), ("f", "second"))
    assert why_joined(seen.grouping, "m", "f.h") == ["m -- m binds f -- f (f.h)"]
    assert why_joined(seen.grouping, "f", "second") != []
    assert why_joined(seen.grouping, "m", "lone") == []
    assert why_joined(seen.grouping, "m", "no such thing") == []


def test_a_shared_source_joins_modules_and_a_shared_header_does_not(join: Join) -> None:
    files = {"f.h": DECLARED, "f.cu": DEFINED, "b1.cu": "int x;\n", "b2.cu": "int x;\n", "lone.h": "void g();\n"}
    closures = {"f.cu": ["f.h", "lone.h"], "b1.cu": ["f.h", "lone.h"], "b2.cu": ["lone.h"]}
    modules = {"m1": ["b1.cu", "f.cu"], "m2": ["b2.cu", "f.cu"], "m3": ["b2.cu"]}
    seen = join(files, closures, modules=modules)
    assert seen.group("m1+1").modules == ("m1", "m2")
    assert why_joined(seen.grouping, "m1", "m2") == [
        "m1 -- f.cu is a source of m1 -- f (f.cu)",
        "f (f.cu) -- f.cu is a source of m2 -- m2",
    ]


def test_a_module_without_torch_is_no_unit(join: Join) -> None:
    assert join({"a.cu": "void f(int x) { x; }\n"}, modules={"m": ["a.cu"]}).grouping.groups == ()


def test_names_of_units_are_unique_and_told_in_order(join: Join) -> None:
    text = "void f(torch::Tensor& x);\nvoid f(torch::Tensor& x, int y);\n"
    files = {"h.h": "#define f2 torch::Tensor\n#define f2 torch::Tensor\n" + text, "z.cu": DEFINED, "a.cu": "int x;\n"}
    seen = join(files, {"a.cu": ["h.h"]})
    names = [g.name for g in seen.grouping.groups]
    assert names == sorted(set(names))
    assert {e for g in seen.grouping.groups for e in g.entities} == set(seen.grouping.owner)


def test_the_order_of_files_does_not_matter(join: Join) -> None:
    files = dict(BOUND)
    closures = {"f.cu": ["f.h"], "bind.cu": ["f.h"], "lone.cu": ["f.h"]}
    modules = {"m": ["bind.cu", "f.cu", "second.cu"]}
    there = join(files, closures, modules, {"bind.cu": ["f"]})
    back = join(dict(reversed(files.items())), closures, modules, {"bind.cu": ["f"]})
    assert there.grouping.groups == back.grouping.groups

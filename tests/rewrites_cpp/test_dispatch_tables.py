"""Maps of functions: what becomes a table, how it is written, and what stays for which reason."""

from __future__ import annotations

import pytest

from tests.dispatch_tables.table_code import blockers, changed, codes, edits_of, offered
from tests.rewrites_cpp.conftest import DISGUISES
from torchless.text.edits import apply

HEAD = "#include <functional>\n#include <map>\n#include <string>\n#include <unordered_map>\n"
DECLARED = "int small(int n);\nint large(int n);\n"
TYPES = "using Kernel = std::function<int(int)>;\nusing KernelMap = std::unordered_map<int, Kernel>;\n"
TABLE = "    static const KernelMap lookup = {{1, small}, {2, large}};\n"
FIND = "    auto it = lookup.find(id);\n    return it != lookup.end() ? it->second : lookup.find(1)->second;\n"


def source(body: str = TABLE + FIND, types: str = TYPES, returns: str = "Kernel", before: str = "") -> str:
    return f"{HEAD}{DECLARED}{types}{before}\n{returns} dispatch(int id)\n{{\n{body}}}\n"


def after(text: str, everything: bool = False) -> str:
    return changed({"tune.cu": text}, everything=everything)["tune.cu"]


def body_of(text: str) -> str:
    return text[text.index("dispatch(int id)\n{\n") + len("dispatch(int id)\n{\n") : text.rindex("}\n")]


ROWS = """    static constexpr KernelMap::value_type rows[] = {{1, small}, {2, large}};
    constexpr std::size_t count = sizeof(rows) / sizeof(rows[0]);
    static_assert(KernelMap::ascends(rows, count), "sort the rows by key, each key once");
"""


def test_a_map_becomes_a_table_and_its_uses_stay() -> None:
    new = after(source())
    assert body_of(new) == f"{ROWS}    static constexpr KernelMap lookup{{rows, count}};\n{FIND}"
    assert "using Kernel = int (*)(int);\n" in new and "using KernelMap = FlatTable<int, Kernel>;\n" in new
    assert new.count("struct FlatTable") == 1
    assert new.startswith("#include <cstddef>\n#include <functional>\n")


def test_what_is_written_is_not_touched_again() -> None:
    assert offered({"tune.cu": after(source())}, everything=True) == []


@pytest.mark.parametrize("name", DISGUISES)
def test_in_every_disguise(name: str) -> None:
    old = DISGUISES[name](source().encode())
    want = DISGUISES[name](after(source()).encode())
    got = apply(old, edits_of(offered({"tune.cu": old}))["tune.cu"])
    assert got.decode("latin-1") == want.decode("latin-1")


@pytest.mark.parametrize(
    ("rows", "sorted_rows"),
    [
        ("{{7, large}, {2, small}}", "{ {2, small},{7, large}}"),
        ("{{2, small}, {7, large}, {2, large}}", "{{2, small}, {7, large}}"),
        ("{{0x10, large}, {-1, small}}", "{ {-1, small},{0x10, large}}"),
        ("{{1, &small}, {2, ::large}}", "{{1, &small}, {2, ::large}}"),
        ("{}", "{}"),
        ("KernelMap{{1, small}}", "{{1, small}}"),
        ("{{{1, small}, {2, large}}}", "{{1, small}, {2, large}}"),
        ("{{1, [](int n) { return n; }}}", "{{1, [](int n) { return n; }}}"),
    ],
)
def test_rows_are_put_in_order_and_the_first_of_equal_keys_stays(rows: str, sorted_rows: str) -> None:
    new = after(source(f"    static const KernelMap lookup = {rows};\n{FIND}"))
    assert f"value_type rows[] = {sorted_rows};\n" in new


def test_a_row_takes_its_comments_along() -> None:
    rows = """{
        // the widest tile
        {7, large}, // slow to start
        {2, small}, /* fits, always */
        {3, small} // the last one
    }"""
    new = after(source(f"    static const KernelMap lookup = {rows};\n{FIND}"))
    assert (
        """rows[] = {
        {2, small}, /* fits, always */
        {3, small}, // the last one
        // the widest tile
        {7, large} // slow to start
    };"""
        in new
    )


def test_a_comment_swallows_no_row() -> None:
    new = after(
        source(f"    static const KernelMap lookup = {{{{3, large}}, {{2, small}}, // two\n{{1, small}}}};\n{FIND}")
    )
    rows = new[new.index("rows[] = ") : new.index("constexpr std::size_t count =")]
    assert [line.strip() for line in rows.splitlines()] == [
        "rows[] = {",
        "{1, small}, {2, small}, // two",
        "{3, large}};",
        "",
    ]


def test_texts_become_views_and_are_ordered_bytewise() -> None:
    types = TYPES.replace("<int, Kernel>", "<std::string, Kernel>")
    text = '    static const KernelMap lookup = {{"b", small}, {"B", large}, {"ab", small}};\n'
    new = after(source(text + FIND.replace("find(1)", 'find("b")'), types).replace("int id", "const std::string& id"))
    assert "FlatTable<std::string_view, Kernel>" in new and "#include <string_view>\n" in new
    assert new.index('{"B", large}') < new.index('{"ab", small}') < new.index('{"b", small}')


def test_a_lambda_makes_the_table() -> None:
    body = """    static const auto lookup = []
    {
        return KernelMap{{1, small}, {2, large}};
    }();
"""
    inner = ROWS.replace("    ", "        ", 1).replace("\n    ", "\n        ")
    assert (
        body_of(after(source(body + FIND)))
        == f"""    static const auto lookup = []
    {{
{inner}        return KernelMap{{rows, count}};
    }}();
{FIND}"""
    )


def test_a_statement_that_shares_its_line_gets_lines_of_its_own() -> None:
    body = "    static const auto lookup = [] { return KernelMap{{1, small}, {2, large}}; }();\n"
    inner = ROWS.replace("    ", "        ", 1).replace("\n    ", "\n        ")
    expected = f"    static const auto lookup = [] {{\n{inner}        return KernelMap{{rows, count}};\n    }}();\n"
    assert body_of(after(source(body + FIND))) == expected + FIND


def test_arms_of_if_constexpr_have_tables_of_their_own() -> None:
    body = """    static const auto lookup = [] {
        if constexpr (sizeof(T) == 4) {
            return KernelMap{{1, small}};
        } else {
            return KernelMap{{2, large}};
        }
    }();
"""
    new = after(source(body + FIND, before="template <typename T>"))
    assert new.count("static_assert(KernelMap::ascends(rows, count)") == 2
    assert new.count("            return KernelMap{rows, count};\n") == 2


def test_names_that_are_taken_are_not_taken_twice() -> None:
    new = after(source("    int rows = id;\n" + TABLE + FIND.replace("find(id)", "find(rows)")))
    assert "value_type lookup_rows[] = " in new and "lookup{lookup_rows, lookup_count};" in new


def test_a_table_at_namespace_level() -> None:
    table = "static const KernelMap kernels = {{1, small}};\n"
    new = after(source("    return kernels.find(id)->second;\n", before=table))
    assert (
        """static constexpr KernelMap::value_type kernels_rows[] = {{1, small}};
static constexpr std::size_t kernels_count = sizeof(kernels_rows) / sizeof(kernels_rows[0]);
static_assert(KernelMap::ascends(kernels_rows, kernels_count),
              "sort the rows by key, each key once");
static constexpr KernelMap kernels{kernels_rows, kernels_count};
"""
        in new
    )


def test_a_map_without_an_alias() -> None:
    types = "using Kernel = std::function<int(int)>;\n"
    body = TABLE.replace("KernelMap", "std::unordered_map<int, Kernel>") + FIND
    new = after(source(body, types))
    assert "static constexpr FlatTable<int, Kernel> lookup{rows, count};" in new
    assert new.index("struct FlatTable") < new.index("Kernel dispatch(int id)")


def test_a_function_type_without_an_alias() -> None:
    types = "using KernelMap = std::unordered_map<int, std::function<int(int)>>;\n"
    new = after(source(TABLE + "    return lookup.find(id)->second(1);\n", types, "int"))
    assert "using KernelMap = FlatTable<int, int (*)(int)>;\n" in new


def test_a_map_that_is_ordered_may_be_gone_over() -> None:
    types = TYPES.replace("unordered_map", "map")
    loop = "    for (const auto& row : lookup)\n        if (row.second(id)) return row.second;\n"
    new = after(source(TABLE + loop + "    return lookup.begin()->second;\n", types))
    assert "FlatTable<int, Kernel>" in new and loop in new


def test_the_file_sets_the_style() -> None:
    text = (
        source()
        .replace("    ", "  ")
        .replace("int dispatch", "int other(int &x) {\n  if (x) {\n    x = 1;\n  }\n  return x;\n}\nint dispatch")
    )
    text = text.replace(
        "Kernel dispatch", "int other(int &x) {\n  if (x) {\n    x = 1;\n  }\n  return x;\n}\n\nKernel dispatch"
    )
    new = after(text)
    assert "struct FlatTable {\n  struct value_type {\n    Key first;\n" in new
    assert "  constexpr const_iterator find(const Key &key) const {\n" in new


HASH = "struct PairHash\n{\n    size_t operator()(const std::tuple<int, int>& t) const { return std::get<0>(t); }\n};\n"
TUPLES = HASH + TYPES.replace("<int, Kernel>", "<std::tuple<int, int>, Kernel, PairHash>")


def test_a_tuple_becomes_a_struct_with_the_names_of_the_look_up() -> None:
    body = "    static const KernelMap lookup = {{{2, 1}, small}, {std::make_tuple(1, 2), large}};\n"
    body += "    auto it = lookup.find({id, 5});\n    it = lookup.find({id, width});\n    return it->second;\n"
    new = after(source(body, TUPLES).replace("int id", "int id, int width"))
    assert "struct KernelKey\n{\n    int id;\n    int width;\n};\n" in new
    assert "FlatTable<KernelKey, Kernel>" in new and "PairHash" not in new
    assert new.index("make_tuple(1, 2)") < new.index("{2, 1}")


def test_a_struct_of_a_header_gets_an_order_and_a_hash_in_use_stays() -> None:
    header = """#pragma once
struct Shape
{
    int M;
    int N;
};
struct ShapeHash { size_t operator()(const Shape& s) const { return s.M; } };
struct ShapeEqual { bool operator()(const Shape& a, const Shape& b) const { return a.M == b.M && b.N == a.N; } };
"""
    types = "using Kernel = std::function<int(int)>;\n"
    types += "using KernelMap = std::unordered_map<Shape, Kernel, ShapeHash, ShapeEqual>;\n"
    body = "    static const KernelMap lookup = {{{1, 2}, small}};\n    return lookup.find({id, 2})->second;\n"
    files = {
        "key.h": header,
        "tune.cu": '#include "key.h"\n' + source(body, types),
        "other.cu": '#include "key.h"\nShapeHash h;\n',
    }
    new = changed(files)
    assert (
        "constexpr bool operator<(const Shape& a, const Shape& b)\n{\n    if(a.M != b.M) return a.M < b.M;\n"
        in new["key.h"]
    )
    assert "ShapeHash" in new["key.h"] and "ShapeEqual" not in new["key.h"]
    partly = {**files, "key.h": header.replace("a.M == b.M && b.N == a.N", "a.M == b.M")}
    assert codes(offered(partly)) == ["TL511", "TL525"]


def test_one_template_serves_a_header_and_the_sources_that_read_it() -> None:
    header = f"#pragma once\n{HEAD}template <typename F>\nusing ById = std::unordered_map<int, F>;\n"
    types = "using Kernel = std::function<int(int)>;\nusing KernelMap = ById<Kernel>;\n"
    one = '#include "by_id.h"\n' + source(types=types)
    two = one.replace("int n", "long n").replace("int(int)", "int(long)")
    new = changed({"by_id.h": header, "one.cu": one, "two.cu": two})
    assert set(new) == {"by_id.h", "one.cu", "two.cu"}
    assert "template <typename F>\nusing ById = FlatTable<int, F>;\n" in new["by_id.h"]
    assert "FlatTable" not in new["one.cu"] and "static constexpr KernelMap lookup{rows, count};" in new["one.cu"]


GIVER = f"""{HEAD}{DECLARED}{TYPES}
const KernelMap& kernels()
{{
    static const KernelMap all{{{{1, small}}}};
    return all;
}}
"""
ASKS = """    static const KernelMap& lookup = [] -> const KernelMap& {
        return kernels();
    }();
"""


def test_a_function_that_gives_a_map_out_ties_sources_together() -> None:
    user = source(ASKS + FIND, before="extern const KernelMap& kernels();\n")
    new = changed({"giver.cu": GIVER, "user.cu": user})
    assert set(new) == {"giver.cu", "user.cu"}
    assert "    static constexpr KernelMap all{rows, count};\n    return all;\n" in new["giver.cu"]
    assert "extern const KernelMap& kernels();" in new["user.cu"] and ASKS in new["user.cu"]
    loop = user.replace(FIND, "    for (auto& row : lookup) return row.second;\n")
    assert "FlatTable" not in "".join(changed({"giver.cu": GIVER, "user.cu": loop}).values())


def test_a_function_that_takes_maps_moves_with_them() -> None:
    take = """template <class Fn>
Fn take(const std::unordered_map<int, Fn>& table, int id)
{
    return table.find(id)->second;
}
"""
    types = "using Kernel = int (*)(int);\n"
    body = TABLE.replace("KernelMap", "std::unordered_map<int, Kernel>") + "    return take(lookup, id);\n"
    new = after(source(body, types, before=take), everything=True)
    assert "Fn take(const FlatTable<int, Fn>& table, int id)\n" in new
    assert blockers(offered({"tune.cu": source(body.replace("take(", "elsewhere("), types)}, everything=True)) == {
        "TL526"
    }


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("TL520", "{2, large}", "{2, [id](int n) { return n + id; }}"),
        ("TL520", "{2, large}", "{2, std::bind(large, 3)}"),
        ("TL520", "{2, large}", "{2, Functor{}}"),
        ("TL520", "    auto it", "    Kernel none;\n    auto it"),
        ("TL520", "    auto it", "    std::vector<Kernel> some;\n    auto it"),
        ("TL520", "    auto it", "    if(id < 0) return nullptr;\n    auto it"),
        ("TL520", "    auto it", "    if(id < 0) return {};\n    auto it"),
        ("TL520", "    auto it", "    if(id < 0) return [&](int n) { return n + id; };\n    auto it"),
        ("TL520", "    auto it", "    if(id < 0) return std::bind(small, 2);\n    auto it"),
        ("TL521", "    auto it", "    lookup.emplace(3, large);\n    auto it"),
        ("TL521", "    auto it", "    lookup[3] = large;\n    auto it"),
        ("TL521", "    return it", "    it->second = large;\n    return it"),
        ("TL521", "lookup = {{1, small}, {2, large}}", "lookup"),
        ("TL521", "static const KernelMap lookup", "static KernelMap& lookup"),
        ("TL523", "{1, small}", "{kOne, small}"),
        ("TL523", "{1, small}", "{010, small}"),
        ("TL523", "{1, small}", "{1, small, 3}"),
        ("TL523", "{{1, small}, {2, large}}", "ROWS()"),
        ("TL523", "{{1, small}, {2, large}}", "{{1, small},\n#ifdef LARGE\n{2, large}\n#endif\n}"),
        ("TL524", "int large(int n);", "long large(int n);"),
        ("TL524", "int large(int n);", "int large(int n, int m = 2);"),
        ("TL524", "int large(int n);", "int large(const int& n);"),
        ("TL524", "int large(int n);", ""),
        ("TL526", "lookup.find(1)->second", "lookup.at(1)"),
        ("TL526", "    auto it", "    keep(&lookup);\n    auto it"),
        ("TL526", "    auto it", "    std::unique_ptr<KernelMap> other;\n    auto it"),
        ("TL526", "    auto it", "    auto& same = lookup;\n    auto it"),
        ("TL526", "    auto it", "    auto give = [&] { return lookup; };\n    auto it"),
    ],
)
def test_what_blocks(code: str, old: str, new: str) -> None:
    text = source().replace(old, new, 1)
    assert text != source()
    found = offered({"tune.cu": text})
    assert blockers(found) == {code}
    assert all(f.help for o in found for f in o.findings if f.blocks)
    assert edits_of(found) == {}


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("TL522", "    auto it", "    for(auto& row : lookup) row.second(id);\n    auto it"),
        ("TL522", "    auto it", "    if(id < 0) return lookup.begin()->second;\n    auto it"),
        ("TL522", "    return it", "    ++it;\n    return it"),
        ("TL522", "    return it", "    std::advance(it, 1);\n    return it"),
        (
            "TL522",
            "    auto it",
            "    const auto& same = lookup;\n    for(auto& row : same) row.second(id);\n    auto it",
        ),
        ("TL525", "<int, Kernel>", "<double, Kernel>"),
        ("TL525", "<int, Kernel>", "<int, Kernel, std::hash<int>, Near>"),
        ("TL525", "unordered_map<int, Kernel>", "map<int, Kernel, std::greater<int>>"),
    ],
)
def test_where_the_map_stays_std_function_goes_alone(code: str, old: str, new: str) -> None:
    text = source().replace(old, new, 1)
    assert text != source()
    assert codes(offered({"tune.cu": text})) == ["TL511", code]
    assert after(text) == text.replace("std::function<int(int)>", "int (*)(int)")


def test_a_static_map_that_is_not_const_is_a_table_when_nobody_changes_it() -> None:
    assert "FlatTable" in after(source(TABLE.replace("static const", "static") + FIND))
    shared = source("    return kernels.find(id)->second;\n", before="KernelMap kernels = {{1, small}};\n")
    assert blockers(offered({"tune.cu": shared})) == {"TL521"}
    assert blockers(offered({"tune.cu": shared.replace("KernelMap kernels", "const KernelMap kernels")})) == set()


def test_plain_pointers_are_offered_on_request_only() -> None:
    text = source(types=TYPES.replace("std::function<int(int)>", "int (*)(int)"))
    (remark,) = offered({"tune.cu": text})
    assert (remark.is_unit, [f.code for f in remark.findings]) == (False, ["TL515"])
    assert "plain pointers, key of a number, 2 rows: saves about 0.1 s" in remark.findings[0].message
    assert "FlatTable<int, Kernel>" in after(text, everything=True)


@pytest.mark.parametrize(
    "text",
    [
        "#include <map>\nstatic const std::map<int, int> widths = {{1, 2}};\n",
        "#include <functional>\nstruct Args { std::function<void*(int)> allocate{}; };\n",
        "#include <functional>\nvoid run(std::function<void()> f) { f(); }\n",
        "#include <unordered_map>\nstd::unordered_map<void*, char*> buffers_;\n",
    ],
)
def test_what_is_no_dispatcher_is_left_alone(text: str) -> None:
    assert offered({"other.cu": text}, everything=True) == []


def test_a_map_type_that_no_table_has_keeps_its_alias() -> None:
    text = source("    return small;\n")
    assert after(text) == text.replace("std::function<int(int)>", "int (*)(int)")


def test_lines_that_grow_too_long_are_broken() -> None:
    types = TYPES.replace("KernelMap", "KernelsOfAllShapesByTheirNumberMap")
    table = "    static const KernelsOfAllShapesByTheirNumberMap lookup = {{1, small}, {2, large}};\n"
    new = body_of(after(source(table + FIND, types)))
    assert new.startswith(
        """    static constexpr KernelsOfAllShapesByTheirNumberMap::value_type rows[] =
        {{1, small}, {2, large}};
    constexpr std::size_t count = sizeof(rows) / sizeof(rows[0]);
    static_assert(KernelsOfAllShapesByTheirNumberMap::ascends(rows, count),
                  "sort the rows by key, each key once");
"""
    )

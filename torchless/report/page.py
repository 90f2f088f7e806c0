"""One page of HTML that holds everything: figures, headers by lines, a timeline, the verification, the diffs.

It needs no network and no other file. Tables, diagnosis and diffs are in the markup; the script draws the two charts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from torchless import __version__
from torchless.profile.compare import Change, shown
from torchless.profile.diagnose import thresholds
from torchless.profile.model import COMPILE, KINDS, TORCH, Node, PassProfile, Profile
from torchless.profile.rows import Row, builds, rows
from torchless.profile.walls import placed, schedule
from torchless.report.profiled import diagnosis_lines, kind_of_figures, pass_name

_NUMERIC = ' class="n"'
_KIND_WORDS = {
    "checkout": "the checkout",
    "ck": "composable_kernel",
    "hip": "HIP",
    "other": "standard library and others",
}


def page(profiles: Sequence[Profile], verification: Mapping[str, Any] | None, diffs: Sequence[tuple[str, str]]) -> str:
    """The page. ``verification`` is a result of `verify` as JSON data; ``diffs`` are (path, unified diff)."""
    template = files("torchless.report").joinpath("page.html").read_text(encoding="utf-8")
    data = {"kinds": list(KINDS), "trees": list(_trees(profiles)), "timelines": list(_timelines(profiles))}
    body = "\n".join(_body(profiles, verification, diffs, data))
    # "</script>" and "<!--" must not occur in the script element, whatever a file is called
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return template.replace("<!--BODY-->", body, 1).replace("<!--DATA-->", packed, 1)


def _body(
    profiles: Sequence[Profile],
    verification: Mapping[str, Any] | None,
    diffs: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
) -> Iterator[str]:
    last = profiles[-1]
    yield "<header><div><h1>torchless profile</h1>"
    yield f'<p class="muted">torchless {escape(__version__)}; {escape(_versions(profiles))}</p></div>'
    yield '<button id="theme" type="button">dark or light</button></header>'
    mark = "" if last.kind == COMPILE else ' class="warn"'
    yield f"<p{mark}><strong>{escape(kind_of_figures(last).capitalize())}.</strong></p>"
    yield f"<ul>{''.join(f'<li>{escape(words)}</li>' for words in last.how)}</ul>"
    for problem in (problem for profile in profiles for problem in profile.problems):
        yield f'<p class="fail">failed: {escape(problem)}</p>'
    yield "<h2>Lines and seconds</h2>" + _table(profiles)
    yield from _built(profiles)
    yield "<h2>What follows</h2>"
    yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in diagnosis_lines(last))}</ul>"
    yield f'<p class="muted">{escape("; ".join(thresholds()))}</p>'
    yield from _icicles(profiles, data)
    yield from _lanes(data)
    if verification is not None:
        yield from _verified(verification)
    if diffs:
        yield "<h2>Diffs</h2>"
        yield from (_diff(path, text) for path, text in diffs)


def _label(profile: Profile) -> str:
    return profile.version or "the files as they are"


def _versions(profiles: Sequence[Profile]) -> str:
    if len(profiles) == 1:
        return _label(profiles[0])
    return f"before: {_label(profiles[0])}, after: {_label(profiles[1])}"


def _table(profiles: Sequence[Profile]) -> str:
    two = len(profiles) > 1
    heads = [
        "unit",
        "pass",
        *(["lines before", "after", "difference", "own lines", "below torch"] if two else ["lines", "below torch"]),
    ]
    heads += ["seconds before", "after", "ratio", ""] if two else ["seconds"]
    words = {"unit", "pass", ""}
    out = "".join(f'<th scope="col"{"" if head in words else _NUMERIC}>{head}</th>' for head in heads)
    body = "".join(_row(row, two) for row in rows(profiles))
    note = "below torch: read below a header of torch. Seconds: CPU seconds of one run of the compiler over one pass."
    if two:
        note += " Own lines: the difference without what the compiler reads in front of every unit."
    table = f'<table id="rows"><thead><tr>{out}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll">{table}</div><p class="muted">{note}</p>'


def _row(row: Row, two: bool) -> str:
    lines = ["" if count is None else f"{count:,}" for count in row.lines]
    torch = ["" if share is None else f"{share:.0%}" for share in row.torch]
    change = row.seconds
    cells = [f'<td class="mono">{escape(row.source)}</td><td>{pass_name(row.name)}</td>']
    if two:
        fewer = ["" if share is None else f"{-share:+.1%}" for share in (row.fewer_lines, row.fewer_own_lines)]
        middle = [*lines, *fewer, f"{torch[0]} → {torch[1]}"]
        figures = [shown(change.before), shown(change.after), _ratio(change)]
        cells += [_figure(text) for text in (*middle, *figures)]
        cells.append(f"<td>{escape(change.verdict)}</td>")
    else:
        cells += [_figure(text) for text in (lines[1], torch[1], shown(change.after))]
    return f"<tr>{''.join(cells)}</tr>"


def _figure(text: str) -> str:
    return f'<td class="n">{escape(text)}</td>'


def _ratio(change: Change) -> str:
    return f"{change.ratio:.2f}" if change.ratio else ""


def _built(profiles: Sequence[Profile]) -> Iterator[str]:
    found = builds(profiles)
    if not found:
        return
    yield "<h3>End-to-end builds through the JIT, wall seconds</h3><table><tbody>"
    for module, change, problems in found:
        words = "; ".join(problems) or (change.verdict if len(profiles) > 1 else "")
        figures = [shown(change.before), shown(change.after)] if len(profiles) > 1 else [shown(change.after)]
        cells = "".join(_figure(text) for text in figures)
        yield f'<tr><td class="mono">{escape(module)}</td>{cells}<td>{escape(words)}</td></tr>'
    yield "</tbody></table>"


def _trees(profiles: Sequence[Profile]) -> Iterator[dict[str, Any]]:
    for row in rows(profiles):
        passes = (row.before, row.after) if len(profiles) > 1 else (row.after,)
        nodes = [None if p is None or p.lines is None else _node(p.lines.tree) for p in passes]
        if any(nodes):
            yield {"name": f"{row.source}, {pass_name(row.name)}", "nodes": nodes}


def _node(node: Node) -> list[Any]:
    children = [_node(child) for child in node.children]
    return [node.path, KINDS.index(node.kind), node.exclusive, node.inclusive, children]


def _icicles(profiles: Sequence[Profile], data: Mapping[str, Any]) -> Iterator[str]:
    if not data["trees"]:
        return
    yield "<h2>Preprocessed lines by header</h2>"
    yield '<p class="muted">A bar is a file as one directive brings it, as wide as its inclusive lines: its own and'
    yield "those of what it includes, which stands below it. Both versions have one scale. A click goes nearer.</p>"
    items = "".join(f'<li><i class="{kind}"></i>{escape(_KIND_WORDS.get(kind, kind))}</li>' for kind in KINDS)
    yield f'<ul class="legend">{items}</ul>'
    yield '<div class="controls"><label>Unit and pass: <select id="tree"></select></label>'
    yield '<button id="reset" type="button">whole unit</button></div><p id="where" class="mono" aria-live="polite"></p>'
    for profile in profiles:
        yield f'<h3>{escape(_label(profile))}</h3><div class="icicle"></div>'


def _timelines(profiles: Sequence[Profile]) -> Iterator[dict[str, Any]]:
    modules = dict.fromkeys(unit.module for profile in profiles for unit in profile.units)
    for module in modules:
        for profile in profiles:
            units, origin = placed(profile, module)
            if not any(unit.seconds for unit in units):
                continue
            heavy = {unit.source: _is_heavy(unit.passes) for unit in profile.units}
            lanes = schedule([unit.seconds for unit in units], profile.build_jobs)
            where = {slot.index: slot for slot in lanes.slots}
            bars = []
            for number, unit in enumerate(units):
                kind = TORCH if heavy.get(unit.source) else "checkout"
                slot = where[number]
                bars.append([unit.source, slot.slot, round(slot.started, 4), round(unit.seconds, 4), kind])
            what = f"{module or 'no module'}, {_label(profile)}: {lanes.wall:.2f} s with MAX_JOBS={profile.build_jobs}"
            yield {"module": module, "what": f"{what}, {origin}", "units": bars}


def _is_heavy(passes: Sequence[PassProfile]) -> bool:
    """Whether any of a unit's passes reads torch."""
    return any(each.lines is not None and each.lines.through.get(TORCH, 0) for each in passes)


def _lanes(data: Mapping[str, Any]) -> Iterator[str]:
    if not data["timelines"]:
        return
    yield "<h2>Timeline</h2>"
    yield '<p class="muted">A lane is a job, a bar is a unit. Versions of a module have one scale.</p>'
    yield f'<ul class="legend"><li><i class="{TORCH}"></i>reads torch</li>'
    yield '<li><i class="checkout"></i>does not</li></ul>'
    for number, line in enumerate(data["timelines"]):
        yield f'<h3>{escape(line["what"])}</h3><div class="lanes" data-at="{number}"></div>'


def _verified(report: Mapping[str, Any]) -> Iterator[str]:
    """The matrix of a result of `verify`: modules down, rungs across; below it what stands behind each cell."""
    modules = report["modules"]
    rungs = list(dict.fromkeys(str(rung["rung"]) for module in modules for rung in module["rungs"]))
    yield f"<h2>Verification</h2><p>Compared with {escape(str(report['compared_with']))}.</p>"
    heads = "".join(f'<th scope="col">{escape(rung)}</th>' for rung in rungs)
    yield '<div class="scroll"><table id="verification"><thead>'
    yield f'<tr><th scope="col">module</th>{heads}</tr></thead><tbody>'
    for module in modules:
        found = {str(rung["rung"]): str(rung["verdict"]) for rung in module["rungs"]}
        cells = "".join(_verdict(found.get(rung, "")) for rung in rungs)
        yield f'<tr><th scope="row" class="mono">{escape(str(module["module"]))}</th>{cells}</tr>'
    yield "</tbody></table></div><ul>"
    for module in modules:
        for rung in module["rungs"]:
            words = [
                str(rung["detail"]),
                *map(str, rung["evidence"]),
                *(f"not seen: {text}" for text in rung["unseen"]),
            ]
            head = f"{module['module']}, {rung['rung']}: {rung['verdict']}"
            yield f"<li><strong>{escape(head)}</strong>: {escape('; '.join(words))}</li>"
    yield "</ul>"


def _verdict(verdict: str) -> str:
    return f'<td class="{verdict.replace(" ", "-")}">{escape(verdict)}</td>'


def _diff(path: str, text: str) -> str:
    classes = {"+": "a", "-": "d", "@": "h"}
    lines = "".join(f'<span class="{classes.get(line[:1], "c")}">{escape(line)}</span>' for line in text.splitlines())
    return f'<details><summary class="mono">{escape(path)}</summary><pre>{lines}</pre></details>'

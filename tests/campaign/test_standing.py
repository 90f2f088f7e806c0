"""Where a campaign stands: what is counted, and the page, whole without a network and looked at in a browser."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_samples import files, lay_out, plan_of
from jsonschema import Draft202012Validator

from torchless.campaign.model import Batch, Blocker, Gain, Plan, State
from torchless.campaign.standing import Place, Standing, standing
from torchless.campaign.state import Campaign, Row, Step
from torchless.model import Edit, Finding, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions
from torchless.report import campaign_standing
from torchless.report.campaign_json import plan_csv, plan_data, schema
from torchless.report.campaign_page import page
from torchless.report.color import painter

EVIL = "module_</td><script>document.title='owned'</script>"
NAMES = {"TL201": "tensor-reference", "TL490": "allocation", "TL301": "torch-check"}


def found(code: str, *, blocks: bool = False, tier: Tier = Tier.SAFE) -> Finding:
    edits = () if blocks else (Edit("csrc/x.cu", 0, 1, b""),)
    return Finding(code, f"about {code}", "csrc/x.cu", 0, 1, tier, edits, blocks=blocks, help="Do it by hand.")


def campaign_of(root: Path) -> tuple[Plan, Campaign]:
    """alpha is merged, beta in a pull request, gamma ready (and unsafe), delta stale, omega blocked."""
    ready = [("module_beta", {}), ("module_delta", {}), ("module_gamma", {})]
    plan = plan_of(root, *ready)
    units = {
        "module_beta": (found("TL201"), found("TL201")),
        "module_delta": (found("TL201"),),
        "module_gamma": (found("TL301", tier=Tier.UNSAFE),),
    }
    batches = [
        replace(b, number=n, units=(Unit(b.name, (b.name,), (), findings=units[b.name]),), gain=Gain(1000, 400))
        for n, b in enumerate(plan.batches, 2)
    ]
    waiting = Unit("module_omega", ("module_omega",), (), status=UnitStatus.BLOCKED)
    waiting = replace(waiting, findings=(found("TL201"), found("TL490", blocks=True)))
    blocker = Blocker("TL490", "torch::empty allocates <a tensor>", "Make it in Python.", 1)
    batches.append(Batch("module_omega", 5, (waiting,), blockers=(blocker,)))
    rows = (
        Row("module_alpha", 1, State.MERGED, ("module_alpha",), ("module_alpha",), 5, 20, constructs={"TL201": 7}),
        Row("module_beta", 2, State.EMITTED, ("module_beta",), ("module_beta",), place="torchless/module_beta"),
        Row("module_delta", 3, State.STALE, ("module_delta",), ("module_delta",), note="put the two together"),
        Row("module_gamma", 4, State.PLANNED, ("module_gamma",), ("module_gamma",)),
        Row("module_omega", 5, State.BLOCKED, ("module_omega",), ("module_omega",)),
    )
    history = (Step("2026-01-05", "a" * 40, 0, 4, 1), Step("2026-01-12", "b" * 40, 1, 3, 1))
    return replace(plan, batches=tuple(batches)), Campaign("b" * 40, "0.1.0", {}, rows, history)


@pytest.fixture
def stands(tmp_path: Path) -> Standing:
    """On a checkout in which alpha reads no torch any more."""
    wanted = files()
    wanted["csrc/include/alpha.h"] = "#pragma once\n"
    wanted["csrc/kernels/alpha.cu"] = '#include "alpha.h"\n'
    root = lay_out(tmp_path / "r", wanted)
    plan, campaign = campaign_of(root)
    return standing(plan, campaign, MigrateOptions((str(root),)), root, NAMES)


def test_modules_by_place(stands: Standing) -> None:
    assert [(line.name, line.place) for line in stands.modules] == [
        ("module_alpha", Place.FREE),
        ("module_beta", Place.EMITTED),
        ("module_gamma", Place.PLANNED),
        ("module_delta", Place.STALE),
        ("module_omega", Place.BLOCKED),
    ]
    assert stands.modules[3].why == "put the two together"
    assert stands.modules[4].why == "TL490 torch::empty allocates <a tensor> (1)"
    told = campaign_standing.headline(stands)
    assert told == "1 of 5 modules free of torch; 1 in a pull request; 1 ready; 1 stale; 1 blocked"


def test_merged_and_yet_not_free(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "r")
    plan, campaign = campaign_of(root)
    now = standing(plan, campaign, MigrateOptions((str(root),)), root, NAMES)
    (alpha,) = [line for line in now.modules if line.name == "module_alpha"]
    assert alpha.place is Place.MERGED and alpha.why.startswith("through csrc/")
    without = standing(plan, None, MigrateOptions((str(root),)), root, NAMES)
    (alpha,) = [line for line in without.modules if line.name == "module_alpha"]
    assert alpha.place is Place.LEFT


def test_constructs_and_reasons(stands: Standing) -> None:
    lines = {line.code: (line.done, line.ready, line.unsafe, line.blocked, line.why) for line in stands.constructs}
    assert lines == {
        "TL201": (7, 3, 0, 1, "waits for TL490"),
        "TL301": (0, 0, 1, 0, ""),
        "TL490": (0, 0, 0, 1, "blocks"),
    }
    (reason,) = stands.reasons
    assert (reason.code, reason.name, reason.places, reason.batches) == ("TL490", "allocation", 1, ("module_omega",))


def test_headers_that_are_still_read(stands: Standing) -> None:
    heaviest = stands.headers[0]
    assert (heaviest.header, heaviest.modules, heaviest.passes) == ("torch/extension.h", 4, 16)
    assert heaviest.total == heaviest.passes * heaviest.lines > 1_000_000
    assert heaviest.way[0].startswith("csrc/") and heaviest.way[-1].endswith(".h")


def test_what_is_next(stands: Standing) -> None:
    assert stands.next is not None and stands.next.name == "module_gamma"
    nothing = replace(stands, plan=replace(stands.plan, batches=stands.plan.batches[:1]))
    assert nothing.next is None and "Nothing is ready" in campaign_standing.next_step(nothing)


def test_text_and_markdown(stands: Standing) -> None:
    text = campaign_standing.text(stands, painter(False), verbose=False)
    assert "module_omega" in text and "help: Make it in Python." in text and "module_alpha" not in text
    assert "module_alpha" in campaign_standing.text(stands, painter(False), verbose=True)
    markdown = campaign_standing.markdown(stands)
    assert "| TL490 allocation | 1 | 1 | torch::empty allocates &lt;a tensor> | Make it in Python. |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| module\\_")]
    assert len(rows) == 4 and all(row.count("|") - row.count("\\|") == 5 for row in rows)


def test_json_and_csv(stands: Standing) -> None:
    data = json.loads(campaign_standing.to_json(stands))
    Draft202012Validator.check_schema(campaign_standing.schema())
    Draft202012Validator(campaign_standing.schema()).validate(data)
    assert data["places"]["blocked"] == 1 and data["next"] == "module_gamma"
    rows = list(csv.DictReader(io.StringIO(campaign_standing.to_csv(stands))))
    assert rows[0] == {
        "code": "TL201", "rule": "tensor-reference", "done": "7", "ready": "3", "unsafe": "0", "blocked": "1",
        "why": "waits for TL490",
    }  # fmt: skip
    Draft202012Validator(schema()).validate(plan_data(stands.plan, stands.campaign))
    table = list(csv.DictReader(io.StringIO(plan_csv(stands.plan, stands.campaign))))
    assert [row["state"] for row in table] == ["emitted", "stale", "planned", "blocked"]
    assert table[3]["blockers"] == "TL490x1"


def test_the_page_is_whole_and_safe(stands: Standing) -> None:
    lines = (replace(stands.modules[0], name=EVIL, why=EVIL), *stands.modules[1:])
    text = page(replace(stands, modules=lines))
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert "default-src 'none'" in text and "<script>document" not in text
    assert re.findall(r"<(?:link|img|iframe|script src)\b", text) == []
    for part in ("1 of 5 modules free of torch", "torch::empty allocates &lt;a tensor&gt;", "Make it in Python."):
        assert part in text
    assert "5 batches left on 2026-01-05, 4 on 2026-01-12; 1 of them blocked" in text


def test_a_browser_shows_it(stands: Standing, look, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page(stands), encoding="utf-8")
    uri = (tmp_path / "page.html").as_uri()
    dom = look("--dump-dom", uri).decode()
    assert 'data-ready="yes"' in dom and "data-error" not in dom
    for number, table in enumerate(("reasons", "modules", "batches", "constructs", "headers")):
        body = re.search(rf'<table id="{table}">.*?</table>', dom, re.S)
        assert body, table
        heads, rows = body[0].count('scope="col"'), re.findall(r"<tr>(.*?)</tr>", body[0], re.S)[1:]
        assert rows and all(len(re.findall(r"<t[dh]\b", row)) == heads for row in rows), (number, table)
    assert len(re.findall(r"<polygon", dom)) == 2
    shots = []
    for theme in ("light", "dark"):
        look(f"--screenshot={tmp_path / theme}.png", f"{uri}#{theme}")
        shots.append((tmp_path / f"{theme}.png").read_bytes())
    assert all(shot.startswith(b"\x89PNG") and len(shot) > 20_000 for shot in shots) and shots[0] != shots[1]


@pytest.mark.parametrize("theme", [r":root \{", r':root\[data-theme="dark"\] \{'], ids=["light", "dark"])
def test_the_colours_of_the_page_have_contrast(stands: Standing, theme: str) -> None:
    block = re.search(rf"{theme}([^}}]*)\}}", page(stands))
    assert block
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block[1]))
    for text in ("text", "muted"):
        assert contrast(colors[text], colors["page"]) >= 4.5 and contrast(colors[text], colors["panel"]) >= 4.5
    for kind in ("free", "leaks", "emitted", "ready", "stale", "blocked", "left"):
        assert contrast(colors["on-bar"], colors[kind]) >= 4.0, kind


def contrast(one: str, two: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)

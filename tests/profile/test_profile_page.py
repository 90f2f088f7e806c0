"""The page: whole without a network, safe whatever files are called, and looked at in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from profile_samples import build, lines, profile, unit

from torchless.profile.model import COMPILE, Node, Profile
from torchless.report.page import page

EVIL = "csrc/</script><script>document.title='owned'</script><!--.cu"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
VERIFICATION = {
    "compared_with": "HEAD<1>",
    "modules": [
        {
            "module": "m",
            "rungs": [
                {"rung": "types", "verdict": "pass", "detail": "no new error", "evidence": [], "unseen": []},
                {
                    "rung": "device",
                    "verdict": "fail",
                    "detail": "a kernel",
                    "evidence": ["k<float>"],
                    "unseen": ["x.cu"],
                },
                {"rung": "rebuild", "verdict": "not run", "detail": "no hipcc", "evidence": [], "unseen": []},
            ],
        }
    ],
}
DIFFS = [("csrc/a.cu", "diff --git a/csrc/a.cu b/csrc/a.cu\n@@ -1 +1 @@\n-old <x>\n+new & y\n same\n")]


def pair() -> list[Profile]:
    old = profile(
        unit("csrc/a.cu", host=((20.0, 21.0), lines(4000, torch=3000)), device=((9.0, 9.5), lines(4000, torch=3000))),
        unit("csrc/b.cu", host=((3.0, 3.1), lines(1000))),
        version="HEAD",
        build_jobs=2,
    )
    new = profile(
        unit("csrc/a.cu", host=((2.0, 2.1), lines(1000)), device=((2.0, 2.5), lines(1000))),
        unit("csrc/b.cu", host=((3.0, 3.2), lines(1000))),
        build_jobs=2,
    )
    return [old, replace(new, builds=(build("m", 30.0, 31.0, 29.0),), problems=("csrc/c.cu: no",))]


def embedded(text: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])


def test_it_names_no_other_place():
    text = page(pair(), VERIFICATION, DIFFS)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text.replace("// One version", ""))
    assert "default-src 'none'" in text
    assert re.findall(r"<(?:link|img|iframe|script src)\b", text) == []


def test_figures_of_front_ends_are_called_that():
    assert "Front-end figures: preprocessing and parsing alone, no code is made; these are not build seconds." in page(
        pair(), None, []
    )
    whole = page([replace(each, kind=COMPILE) for each in pair()], None, [])
    assert "ront-end figures" not in whole and "Compile seconds: each pass compiled alone" in whole


def test_what_is_in_the_markup_without_a_script():
    text = page(pair(), VERIFICATION, DIFFS)
    figures = ("4,000", "1,000", "-75.0%", "-76.9%", "75% → 0%")
    assert "".join(f'<td class="n">{figure}</td>' for figure in figures) in text
    assert '<td class="n">20.00, 21.00</td><td class="n">2.00, 2.10</td><td class="n">10.00</td>' in text
    assert "outside the noise" in text and "within the noise" in text
    assert '<td class="pass">pass</td><td class="fail">fail</td><td class="not-run">not run</td>' in text
    assert "a kernel; k&lt;float&gt;; not seen: x.cu" in text and "Compared with HEAD&lt;1&gt;." in text
    assert '<span class="d">-old &lt;x&gt;</span><span class="a">+new &amp; y</span>' in text
    assert "failed: csrc/c.cu: no" in text and "30.00, 31.00, 29.00" in text
    assert "ninja&#x27;s log of the last build" in text


def test_the_trees_and_timelines_that_the_script_draws():
    data = embedded(page(pair(), None, []))
    assert [tree["name"] for tree in data["trees"]] == [
        "csrc/a.cu, host",
        "csrc/a.cu, device gfx942",
        "csrc/b.cu, host",
    ]
    before, after = data["trees"][0]["nodes"]
    assert (before[2:4], [child[3] for child in before[4]]) == ([1000, 4000], [3000])
    assert (after[2:4], after[4]) == ([1000, 1000], [])
    old, new = data["timelines"]
    assert [bar[0] for bar in old["units"]] == ["csrc/a.cu", "csrc/b.cu"]
    assert [bar[4] for bar in old["units"]] == ["torch", "checkout"]
    assert [bar[1] for bar in old["units"]] == [0, 1] and new["units"][0][0] == "a.cu"


def test_one_version_alone():
    text = page(pair()[:1], None, [])
    assert "lines before" not in text and text.count('<div class="icicle">') == 1
    assert "<h2>Verification</h2>" not in text and "<h2>Diffs</h2>" not in text
    only_lines = profile(unit("csrc/a.cu", host=((), lines(40))))
    assert "not measured" in page([only_lines], None, [])


def test_names_of_files_are_text():
    tree = lines(10)
    named = replace(tree, tree=Node(EVIL, "checkout", 10, 10))
    text = page([profile(unit(EVIL, host=(1.0, named)))], None, [(EVIL, "+<b>\n")])
    assert "<script>document" not in text
    assert embedded(text)["trees"][0]["nodes"][0][0] == EVIL


@pytest.fixture(scope="session")
def browser() -> str:
    """A Chromium: TORCHLESS_CHROMIUM, or one on the path."""
    for name in (os.environ.get("TORCHLESS_CHROMIUM", ""), *BROWSERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.skip("no Chromium on this machine: the page cannot be looked at")


def look(browser: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a headless browser that reaches no network, with a profile of its own in ``folder``."""
    command = [
        browser,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]
    command += [f"--user-data-dir={folder / 'browser'}", "--host-resolver-rules=MAP * ~NOTFOUND", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--window-size=1280,1600"]
    return subprocess.run([*command, *arguments], capture_output=True, timeout=180, check=True, cwd=folder)


def first_pixel(png: bytes) -> tuple[int, ...]:
    """The upper left pixel of a PNG of 8 bits a channel; every filter leaves the first pixel as it is."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png[24] == 8
    at = png.index(b"IDAT")
    length = int.from_bytes(png[at - 4 : at], "big")
    packed = png[at + 4 : at + 4 + length]
    row = zlib.decompressobj().decompress(packed, 16)
    return tuple(row[1:4])


def test_a_browser_draws_it(browser, tmp_path):
    evil = unit(EVIL, module="other", host=(1.0, replace(lines(10), tree=Node(EVIL, "hip", 10, 10))))
    profiles = pair()
    profiles[1] = replace(profiles[1], units=(*profiles[1].units, evil))
    (tmp_path / "page.html").write_text(page(profiles, VERIFICATION, DIFFS), encoding="utf-8")
    dom = look(browser, tmp_path, "--dump-dom", (tmp_path / "page.html").as_uri()).stdout.decode()
    assert 'data-ready="yes"' in dom and "data-error" not in dom
    assert "<title>torchless profile</title>" in dom
    icicles = re.findall(r'<div class="icicle"[^>]*>(.*?)</div>', dom, re.S)
    assert len(icicles) == 2
    widths = [[float(w) for w in re.findall(r"width: ([\d.]+)%", box)] for box in icicles]
    assert widths == [[100.0, 75.0], [25.0]]  # one scale: what is gone is seen to be gone
    assert 'class="bar torch"' in icicles[0] and 'class="bar torch"' not in icicles[1]
    assert len(re.findall(r"<option ", dom)) == 4
    lanes = re.findall(r'<div class="lanes"[^>]*>(.*?)</div></div>', dom, re.S)
    assert len(lanes) == 3
    assert "a.cu: 29.75 s from 0.00 s on" in dom  # medians of both passes of the older version


def test_it_is_readable_in_light_and_dark(browser, tmp_path):
    (tmp_path / "page.html").write_text(page(pair(), VERIFICATION, DIFFS), encoding="utf-8")
    uri = (tmp_path / "page.html").as_uri()
    seen = {}
    for name, arguments in {
        "light": [uri + "#light"],
        "dark": [uri + "#dark"],
        "the system's dark": ["--blink-settings=preferredColorScheme=0", uri],
        "the system's light": ["--blink-settings=preferredColorScheme=1", uri],
    }.items():
        look(browser, tmp_path, f"--screenshot={tmp_path / 'shot.png'}", *arguments)
        seen[name] = first_pixel((tmp_path / "shot.png").read_bytes())
    assert seen["light"] == seen["the system's light"] == (255, 255, 255)
    assert seen["dark"] == seen["the system's dark"] == (13, 17, 23)


def contrast(one: str, two: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [r":root \{", r':root\[data-theme="dark"\] \{'], ids=["light", "dark"])
def test_the_colours_have_contrast(theme):
    found = re.search(rf"{theme}([^}}]*)\}}", page(pair(), None, []))
    assert found
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", found[1]))
    for text in ("text", "muted", "accent", "good", "bad", "none"):
        assert contrast(colors[text], colors["page"]) >= 4.5, text
        assert contrast(colors[text], colors["panel"]) >= 4.5 or text in ("good", "bad", "none"), text
    for kind in ("torch", "checkout", "ck", "pybind11", "hip", "other"):
        assert contrast(colors["on-bar"], colors[kind]) >= 4.0, kind
    for back in ("added", "gone"):
        assert contrast(colors["text"], colors[back]) >= 4.5, back

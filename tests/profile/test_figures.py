"""What is made of the figures: schedules, comparisons, diagnoses, and results that are stored."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from profile_samples import build, lines, profile, unit

from torchless.profile import compare as comparing
from torchless.profile import diagnose as diagnosing
from torchless.profile import store
from torchless.profile.compare import compare, paired, shown
from torchless.profile.diagnose import diagnose, thresholds
from torchless.profile.model import COMPILE, Seconds
from torchless.profile.rows import rows
from torchless.profile.walls import median, placed, schedule


def test_a_schedule_and_what_its_wall_hangs_on():
    found = schedule([1.0, 1.0, 4.0], 2)
    assert [(s.index, s.slot, s.started, s.ended) for s in found.slots] == [(0, 0, 0, 1), (1, 1, 0, 1), (2, 0, 1, 5)]
    assert (found.wall, found.longest, found.share, found.critical) == (5.0, 4.0, 3.0, (0, 2))
    assert found.bound_by == "order"
    best = schedule([1.0, 1.0, 4.0], 2, largest_first=True)
    assert (best.wall, best.bound_by, best.critical) == (4.0, "longest", (2,))
    assert schedule([1.0] * 8, 2).bound_by == "total"
    assert (schedule([], 3).wall, schedule([2.0], 0).wall) == (0.0, 2.0)


def test_medians():
    assert (median([]), median([3.0]), median([1.0, 4.0]), median([5.0, 1.0, 2.0])) == (0.0, 3.0, 2.5, 2.0)


@pytest.mark.parametrize(
    ("before", "after", "outside"),
    [
        ([10.0], [1.0], None),
        ([10.0, 11.0], [1.0], None),
        ([10.0, 11.0], [9.0, 9.5], True),
        ([10.0, 11.0], [9.0, 10.5], False),
        ([1.0, 2.0], [3.0, 4.0], True),
        ([10.0] * 10 + [50.0], [9.0] * 10 + [60.0], True),
        ([10.0, 10.1, 9.9, 12.0, 8.0] * 2, [10.0, 10.2, 9.8, 12.0, 8.0] * 2, False),
    ],
)
def test_whether_a_difference_is_outside_the_noise(before, after, outside):
    assert compare(before, after).outside is outside


def test_few_values_are_shown_as_they_are():
    assert shown([1.234, 2.0]) == "1.23, 2.00"
    assert shown([1.0] * 9) == ", ".join(["1.00"] * 9)
    assert shown([float(n) for n in range(1, 11)]) == "median 5.50, min 1.00, max 10.00 of 10"
    assert shown([]) == "not measured"
    change = compare([9.0, 10.0, 11.0], [2.0, 2.5])
    assert (change.ratio, change.difference) == (10 / 2.25, 2.25 - 10)
    assert change.verdict == "outside the noise"
    assert compare([1.0], [2.0]).verdict == "one value each: the noise is not known"
    assert compare([], [2.0]).verdict == "only one side was measured"
    assert compare([0.0], [2.0]).ratio is None


def test_pairs_run_in_turns():
    ran: list[tuple[str, int]] = []
    paired(lambda version, trial: ran.append((version, trial)), "AB", 3)
    assert "".join(version for version, _ in ran) == "ABABAB"
    assert comparing.ENOUGH == 10


def words(found, source):
    return [(d.bound, d.text, d.codes, d.helps) for d in diagnose(found) if d.source == source]


def test_torch_in_the_host_pass_is_what_migrate_takes_out():
    found = profile(unit("a.cu", host=(20.0, lines(400, torch=300)), device=(5.0, lines(100))))
    ((bound, text, codes, helps),) = words(found, "a.cu")
    assert (bound, helps) == ("host", True)
    assert text.startswith("torch brings the lines: 75% in the host pass, 0% in the device pass for gfx942")
    assert "TL101" in codes


def test_a_device_bound_unit_is_told_that_torchless_cannot_help():
    device = (Seconds(30, 30, 3.0, 12.0, 15.0), lines(100))
    ((bound, text, codes, helps),) = words(
        profile(unit("a.cu", host=(5.0, lines(100)), device=device), kind=COMPILE), "a.cu"
    )
    assert (bound, codes, helps) == ("device", (), False)
    assert "torchless cannot help" in text and "90% of them in optimiser and code generation" in text
    ((bound, text, codes, helps),) = words(profile(unit("a.cu", host=(5.0, lines(100)), device=device)), "a.cu")
    assert (bound, helps) == ("device", False)
    assert "front end dominates" in text and "cannot help" not in text


def test_torch_in_a_device_bound_unit_still_helps():
    found = profile(unit("a.cu", host=(5.0, lines(400, torch=300)), device=(30.0, lines(400, torch=300))))
    ((bound, text, _, helps),) = words(found, "a.cu")
    assert (bound, helps) == ("device", True) and "75% in the device pass" in text


def test_other_weights_and_their_rewrites():
    ck = profile(unit("a.cu", host=(5.0, lines(400, ck=200)), device=(5.0, lines(100))))
    assert words(ck, "a.cu")[0][2] == ("TL115",)
    binding = profile(replace(unit("p.cu", host=(5.0, lines(400)), device=(4.0, lines(400))), binds=True))
    assert words(binding, "p.cu")[0][2] == ("TL610",)
    table = unit("t.cu", host=(Seconds(5, 5, 4.0), lines(400)), device=(1.0, lines(100)), tables=2.0)
    ((_, text, codes, _),) = words(profile(table), "t.cu")
    assert codes == ("TL510", "TL511") and text.startswith("instantiating std::function takes 50%")
    light = profile(unit("a.cu", host=(5.0, lines(400, torch=50)), device=(5.0, lines(100))))
    ((bound, text, codes, helps),) = words(light, "a.cu")
    assert (bound, codes, helps) == ("both", (), False) and text.startswith("nothing that torchless takes out")


def test_the_thresholds_are_the_ones_that_are_told():
    told = " ".join(thresholds())
    for value in (diagnosing.BOUND, diagnosing.WORTH, diagnosing.TABLES, diagnosing.IDLE):
        assert f"{value:.0%}" in told
    just = profile(unit("a.cu", host=(5.0, lines(400, torch=100)), device=(5.0, lines(100))))
    below = profile(unit("a.cu", host=(5.0, lines(401, torch=100)), device=(5.0, lines(100))))
    assert words(just, "a.cu")[0][3] and not words(below, "a.cu")[0][3]


def test_what_a_modules_build_hangs_on():
    long = [unit(f"{n}.cu", host=(float(n), lines(100))) for n in (1, 1, 9)]
    found = diagnose(profile(*long, build_jobs=2))[-1]
    assert (found.source, found.module) == ("", "m")
    assert "the build starts long units late, 9.cu among them" in found.text
    found = diagnose(profile(*long[::-1], build_jobs=2))[-1]
    assert "9.cu is the critical path, 9.0 of 9.0 s" in found.text and not found.helps
    assert "3 front ends with MAX_JOBS=2" in found.text
    even = [unit(f"{n}.cu", host=(1.0, lines(100))) for n in range(8)]
    assert "the jobs are busy all the time, 4.0 s" in diagnose(profile(*even, build_jobs=2))[-1].text


def test_a_real_build_counts_more_than_a_reckoned_one():
    found = profile(unit("a.cu", host=(1.0, lines(100))))
    assert placed(found, "m")[1] == "reckoned from front ends alone, not a build"
    built = replace(found, builds=(build("m", 30.0),))
    assert placed(built, "m")[1] == "ninja's log of the last build"
    assert [u.source for u in placed(built, "m")[0]] == ["a.cu", "b.cu"]


def test_rows_put_versions_beside_each_other():
    old = profile(unit("a.cu", host=(10.0, lines(400, torch=300))), unit("gone.cu", host=(1.0, lines(10))))
    new = profile(unit("a.cu", host=(2.0, lines(100))), unit("new.cu", host=(1.0, lines(10))))
    a, fresh, gone = rows([old, new])
    assert (a.lines, a.fewer_lines, a.torch) == ((400, 100), 0.75, (0.75, 0.0))
    assert (a.seconds.before, a.seconds.after, a.seconds.ratio) == ((10.0,), (2.0,), 5.0)
    assert (fresh.source, fresh.lines, fresh.fewer_lines) == ("new.cu", (None, 10), None)
    assert (gone.source, gone.lines) == ("gone.cu", (10, None))


def test_results_come_back_as_they_were(tmp_path):
    found = profile(
        unit("a.cu", host=(Seconds(5, 5, 4.0, 0.5, 0.25), lines(400, torch=300)), device=(1.0, lines(9)), tables=0.125)
    )
    found = replace(found, builds=(build("m", 30.0),), problems=("b.cu: no",))
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"schema_version": store.SCHEMA_VERSION, "profiles": [store.to_data(found)]}))
    assert store.read(path) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("{}", "no result of `torchless profile"),
        ('{"schema_version": 99, "profiles": []}', "another version of torchless"),
        ('{"schema_version": 1, "profiles": [{}, {}]}', "it compares two versions"),
        ('{"schema_version": 1, "profiles": [{}]}', "cannot be read"),
        ('{"schema_version": 1, "profiles": [1]}', "cannot be read"),
    ],
)
def test_results_that_cannot_be_used(tmp_path, text, words):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(store.StoreError, match=words) as error:
        store.read(tmp_path / "r.json")
    assert "\n" not in str(error.value)

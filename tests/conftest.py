"""What every test may need: the bundled example, the corpus, and the promise that CI skips nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "mini-aiter"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what the machine cannot run: tests marked clang or corpus."""
    if item.get_closest_marker("clang") and shutil.which("clang++-19") is None:
        pytest.skip("clang++-19 is not installed")
    if item.get_closest_marker("corpus") and not os.environ.get("TORCHLESS_CORPUS"):
        pytest.skip("TORCHLESS_CORPUS does not name an unpacked amd-aiter wheel")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With TORCHLESS_CI=1 a skipped test is a failed one: what CI does not run is not tested."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if os.environ.get("TORCHLESS_CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {call.excinfo and call.excinfo.value}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """The same for a file that leaves itself out as a whole."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if os.environ.get("TORCHLESS_CI") and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, which CI does not allow: {report.longrepr}"


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the user's cache out of it: one cache for all workers of this test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "torchless-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHLESS_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture
def mini_aiter(tmp_path: Path) -> Path:
    """A fresh copy of the bundled example, outside of any git tree."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "mini-aiter"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the unpacked amd-aiter wheel (only for tests marked corpus). Read-only: copy what you change."""
    return Path(os.environ["TORCHLESS_CORPUS"])

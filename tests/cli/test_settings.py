"""[tool.torchless] and torchless.toml: where they are found, that flags win, and every way to get them wrong."""

from __future__ import annotations

import pytest
from cli_samples import result

from torchless.api import MigrateOptions, UsageError
from torchless.config import ConfigError, load_config, merge


def test_defaults_are_those_of_the_options(run, fake, checkout):
    asked = fake(result())
    run("migrate", cwd=checkout)
    assert asked == [MigrateOptions(paths=(".",))]


def test_every_flag_reaches_the_engine(run, fake, checkout):
    asked = fake(result())
    flags = """
        csrc --module module_a --module module_b --select TL2,TL3 --select tl7 --ignore TL301 --unsafe -j 3 --no-cache
        --headers system -I csrc -D A=1 -D B --arch gfx950 --exclude old --force-exclude --checks throw --assume-target
        --opus-guard define
    """
    run("migrate", *flags.split(), cwd=checkout)
    assert asked == [
        MigrateOptions(
            paths=("csrc",),
            modules=("module_a", "module_b"),
            select=("TL2", "TL3", "TL7"),
            ignore=("TL301",),
            unsafe=True,
            jobs=3,
            cache=False,
            headers="system",
            include_dirs=(str(checkout / "csrc"),),
            defines=("A=1", "B"),
            arch="gfx950",
            exclude=("old",),
            force_exclude=True,
            checks="throw",
            assume_target=True,
            opus_guard="define",
        )
    ]


def test_a_module_alone_does_not_add_the_current_folder(run, fake, checkout):
    asked = fake(result())
    run("migrate", "--module", "module_a", cwd=checkout)
    assert asked[0].paths == ()


def test_settings_are_found_above_and_flags_win(run, fake, checkout):
    (checkout / "pyproject.toml").write_text(
        '[tool.torchless]\nselect = ["TL2"]\nunsafe = true\njobs = 2\ncache = false\n'
    )
    asked = fake(result())
    run("migrate", "--select", "TL3", "--no-unsafe", cwd=checkout / "csrc")
    assert (asked[0].select, asked[0].unsafe, asked[0].jobs, asked[0].cache) == (("TL3",), False, 2, False)


def test_the_nearest_file_wins_and_torchless_toml_wins_in_one_folder(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "torchless.toml").write_text("jobs = 1\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.torchless]\njobs = 2\n")
    assert load_config(inner).values == {"jobs": 2}
    (tmp_path / "a" / "torchless.toml").write_text("jobs = 3\n")
    assert load_config(inner).values == {"jobs": 3}


def test_a_pyproject_of_others_does_not_end_the_search(tmp_path):
    inner = tmp_path / "a"
    inner.mkdir()
    (tmp_path / "torchless.toml").write_text("jobs = 1\n")
    (inner / "pyproject.toml").write_text("[tool.black]\nline-length = 100\n")
    assert load_config(inner).values == {"jobs": 1}


def test_paths_are_relative_to_the_file(tmp_path):
    (tmp_path / "torchless.toml").write_text('include-dirs = ["include"]\n')
    assert load_config(tmp_path).values == {"include_dirs": (str(tmp_path / "include"),)}


WRONG = {
    "jbos = 2": "unknown key 'jbos'; did you mean jobs?",
    "jobs = true": "jobs must be a whole number, 0 or more, not a boolean",
    "jobs = -1": "jobs must be a whole number, 0 or more, not -1",
    'unsafe = "yes"': "unsafe must be true or false, not a string",
    'select = "TL2"': "select must be a list of strings, not a string",
    "select = [1]": "select must be a list of strings, not a list with something else in it",
    'headers = "mine"': "headers must be one of stubs, system, not 'mine'",
    "checks = 1979-05-27": "checks must be a string, not a date or a time",
    "jobs =": "not valid TOML: ",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_wrong_settings_are_one_line(tmp_path, text, message):
    file = tmp_path / "torchless.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path)
    assert str(error.value).startswith(f"{file}: {message}")
    assert "\n" not in str(error.value)


def test_settings_that_cannot_be_read(tmp_path):
    (tmp_path / "torchless.toml").write_bytes(b'select = ["\xff"]')
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_config(tmp_path)
    (tmp_path / "torchless.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("tool.torchless = 1")
    with pytest.raises(ConfigError, match="must be a table, not 1"):
        load_config(tmp_path)


def test_a_value_that_makes_no_sense_names_the_file_it_came_from(tmp_path):
    (tmp_path / "torchless.toml").write_text('arch = "sm_90"\n')
    config = load_config(tmp_path)
    with pytest.raises(UsageError, match=rf"^{tmp_path}/torchless.toml: not an architecture"):
        merge(config, {}, MigrateOptions(()))


def test_the_command_line_reports_them(run, fake, checkout):
    (checkout / "torchless.toml").write_text("jbos = 2")
    fake(result())
    ran = run("migrate", cwd=checkout)
    assert ran.code == 2
    assert ran.err == f"torchless: error: {checkout}/torchless.toml: unknown key 'jbos'; did you mean jobs?\n"

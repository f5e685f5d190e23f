"""The tables of docs/command-line.md, man pages and completions are those of the help of the program (scripts/command-pages)."""

import os
import re
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def command_pages(bin_dir, pytestconfig):
    """command_pages(*arguments): runs the script."""

    def call(*arguments, root=pytestconfig.rootpath):
        return subprocess.run([sys.executable, str(root / "scripts" / "command-pages"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=600, env={**os.environ, "PLIMSOLL_BIN": str(bin_dir)})

    return call


@pytest.fixture(scope="module")
def written(command_pages, tmp_path_factory):
    """A folder with `man` and `completions`."""
    folder = tmp_path_factory.mktemp("written")
    done = command_pages("--man", folder / "man", "--completions", folder / "completions")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def complete(written):
    """complete(line): what bash offers at the end of the line, in a folder with one capture."""
    (written / "captures").mkdir()
    (written / "captures" / "my drive.csv").touch()
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plimsoll; for reply in "${COMPREPLY[@]}"; do echo "$reply"; done'

    def call(line):
        done = subprocess.run(["bash", "-c", script, "bash", written / "completions" / "plimsoll.bash", *line.split(" ")],
                              capture_output=True, text=True, cwd=written, timeout=60)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.split("\n")[:-1]

    return call


def test_the_page_has_the_options_of_the_help(command_pages):
    done = command_pages("--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_check_finds_another_table_and_a_missing_one(command_pages, pytestconfig, tmp_path):
    for part in ("scripts", "docs", "python"):
        (tmp_path / part).mkdir()
    shutil.copy(pytestconfig.rootpath / "scripts" / "command-pages", tmp_path / "scripts")
    shutil.copytree(pytestconfig.rootpath / "scripts" / "command_help", tmp_path / "scripts" / "command_help")
    (tmp_path / "python").rmdir()
    (tmp_path / "python").symlink_to(pytestconfig.rootpath / "python")
    page = (pytestconfig.rootpath / "docs" / "command-line.md").read_text()
    changed = page.replace("<!-- help: verify -->", "<!-- help: verifies -->")
    changed = re.sub(r"(<!-- help: merge -->.*?)`--out DIR`", r"\1`--into DIR`", changed, count=1, flags=re.S)
    (tmp_path / "docs" / "command-line.md").write_text(changed)
    done = command_pages("--check", root=tmp_path)
    assert done.returncode == 1
    assert [re.search("`(.*?)`", line)[1] for line in done.stdout.splitlines()] == ["verify", "verifies", "merge"]
    assert (tmp_path / "docs" / "command-line.md").read_text() == changed


def test_bash_completes_verbs_options_words_and_files(written, complete):
    done = subprocess.run(["bash", "-n", written / "completions" / "plimsoll.bash"], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert complete("plimsoll ing") == ["ingest"]
    assert {"can", "graph", "points", "swc"} <= set(complete("plimsoll ingest "))
    assert complete("plimsoll ingest can --trunc") == ["--truncated"]
    assert complete("plimsoll ingest can x --truncated ") == ["read", "fail"]
    assert complete("plimsoll ingest can captures/") == complete("plimsoll ingest can x --out captures/") == ["captures/my drive.csv"]
    assert set(complete("plimsoll import ")) == {"config", "kdgat"}
    assert complete("plimsoll train --budget ") == []


@pytest.mark.parametrize("shell, name, flag", [("zsh", "_plimsoll", "-n"), ("fish", "plimsoll.fish", "--no-execute")])
def test_other_shells_read_their_completions(written, shell, name, flag):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, flag, written / "completions" / name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_man_pages_have_no_warnings(written):
    pages = sorted((written / "man").iterdir())
    assert {"plimsoll.1", "plimsoll-ingest.1", "plimsoll-ingest-can.1", "plimsoll-train.1"} <= {page.name for page in pages}
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for page in pages:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, f"{page.name}: {done.stderr}"
        assert "SYNOPSIS" in re.sub(".\b", "", done.stdout)

"""Lines of candump on a pipe: what their times are, and what to do where they have none."""

import json
import subprocess

import pytest

DBC = 'VERSION ""\nBU_: A\nBO_ 291 Engine: 1 A\n SG_ X : 0|8@1+ (1,0) [0|10] "" A\n'


@pytest.fixture
def check(bin_dir, tmp_path):
    """check(text, *options): `plimsoll check` of these lines on its standard input."""
    (tmp_path / "car.dbc").write_text(DBC)

    def run(text, *options):
        command = [bin_dir / "plimsoll", "check", tmp_path / "car.dbc", "-", *options]
        return subprocess.run(command, input=text, capture_output=True, text=True)

    return run


def test_lines_without_times_are_refused_and_the_error_names_the_option(check):
    for lines in (2, 1000):
        done = check("  can0  123   [1]  05\n" * lines)
        assert done.returncode == 3 and "candump -L can0 |" in done.stderr, done.stderr


def test_a_first_line_that_is_cut_hides_no_times(check):
    done = check("can0  123   [1]  05\n" + "".join(f" ({1000 + n}.5)  can0  123   [1]  05\n" for n in range(5)), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["malformed_lines"] == 1


def test_times_that_may_be_differences_are_told(check):
    done = check(" (000.000000)  can0  123   [1]  05\n (000.100000)  can0  123   [1]  06\n")
    assert done.returncode == 0 and "--time delta" in done.stderr
    assert check(" (000.000000)  can0  123   [1]  05\n", "--time", "delta").returncode == 0
    done = check("(1.0) can0 123#05\n", "--time", "ms")
    assert done.returncode == 2 and "--time ms" in done.stderr

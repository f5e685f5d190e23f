"""Where the programs and the captures are, and how a test runs the one on the other.

PLIMSOLL_BIN    the folder of the programs, default <repository>/build/release/bin
PLIMSOLL_DATA   the folder of the test data, default <repository>/../shared/data
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bench" / "peers"))


@pytest.fixture(scope="session")
def bin_dir():
    """The folder of the programs under test; they need not be there."""
    return Path(os.environ.get("PLIMSOLL_BIN", REPOSITORY / "build" / "release" / "bin"))


@pytest.fixture(scope="session")
def data_dir():
    """The folder of the test data; a test that asks for it is skipped where it is absent."""
    folder = Path(os.environ.get("PLIMSOLL_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no test data at {folder} (set PLIMSOLL_DATA)")
    return folder


@pytest.fixture(scope="session")
def captures(data_dir):
    """captures(name): the folder of a set of real captures; the test is skipped where it is absent."""

    def find(name):
        folder = data_dir / "can" / name
        if not folder.is_dir():
            pytest.skip(f"no captures at {folder} (set PLIMSOLL_DATA)")
        return folder

    return find


@pytest.fixture(scope="session")
def can_cases(data_dir):
    """The folder of the cases from public bug reports; the test is skipped where it is absent."""
    folder = data_dir.parent / "cases" / "can"
    if not folder.is_dir():
        pytest.skip(f"no cases at {folder} (set PLIMSOLL_DATA)")
    return folder


@pytest.fixture(scope="session")
def run(bin_dir):
    """run(program, *arguments): runs one of the programs, expects exit code 0, gives its standard output."""

    def run_program(name, *arguments):
        program = bin_dir / name
        if not program.exists():
            pytest.fail(f"{program} is missing: run `make build`, or set PLIMSOLL_BIN", pytrace=False)
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}"
        return done.stdout

    return run_program


@pytest.fixture(scope="session")
def seal(bin_dir):
    """seal(folder): the manifest gets the checksums of columns that a test changed, so that what they hold is looked at."""

    def write_checksums(folder):
        done = subprocess.run([str(bin_dir / "plimsoll"), "verify", str(folder), "--json"], capture_output=True, text=True)
        manifest = json.loads((folder / "manifest.json").read_text())
        for finding in json.loads(done.stdout)["findings"]:
            if found := re.match(r"column '([^']+)': its checksum is (\w+),", finding):
                manifest["columns"][found[1]]["xxh3"] = found[2]
        (folder / "manifest.json").write_text(json.dumps(manifest))

    return write_checksums


@pytest.fixture(scope="session")
def failing_disk(tmp_path_factory):
    """failing_disk(column, byte): the environment of a program whose disk fails there (tests/support/failing_disk.c)."""
    library = tmp_path_factory.mktemp("failing") / "failing_disk.so"
    source = REPOSITORY / "tests" / "support" / "failing_disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)

    def environment(column, byte):
        return {**os.environ, "PLIMSOLL_READ": "pool", "LD_PRELOAD": str(library), "FAILING_FILE": column,
                "FAILING_FROM": str(byte)}

    return environment


@pytest.fixture(scope="session")
def compat_windows(run):
    """compat_windows(source, folder): captures -> frames -> graphs; gives the path of the graph set."""

    def make(source, folder):
        run("plimsoll", "ingest", "can", source, "--out", folder / "frames")
        run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", "compat")
        return folder / "graphs"

    return make


@pytest.fixture(scope="session")
def ops_library(bin_dir):
    """The path of the library of operators."""
    path = bin_dir.parent / "lib" / "libplimsoll_ops.so"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`, or set PLIMSOLL_BIN", pytrace=False)
    return path


@pytest.fixture(scope="session")
def ops():
    """torch.ops.plimsoll, of the package or of the library PLIMSOLL_OPS: a process can register them once."""
    torch = pytest.importorskip("torch")
    if library := os.environ.get("PLIMSOLL_OPS"):
        torch.ops.load_library(library)
        return torch.ops.plimsoll
    pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    from plimsoll import _operators

    _operators.load()
    return torch.ops.plimsoll


@pytest.fixture
def threads():
    """One thread, on a busy machine the fastest; threads(n) sets another number. It is put back."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch.set_num_threads
    torch.set_num_threads(before)

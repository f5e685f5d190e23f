"""Captures read by Dask's workers make the set that one process makes."""

import filecmp
import os

import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install dask distributed")


def same(a, b):
    files = sorted(os.listdir(a))
    assert files == sorted(os.listdir(b))
    return filecmp.cmpfiles(a, b, files, shallow=False)[0] == files


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="600MiB", dashboard_address=None,
                                  host="127.0.0.1", local_directory=str(tmp_path_factory.mktemp("dask"))) as cluster:
        with distributed.Client(cluster) as connected:
            yield connected


@pytest.fixture(scope="module")
def captures(run, tmp_path_factory):
    """Folders of captures, one of them bad."""
    folder = tmp_path_factory.mktemp("captures")
    run("plimsoll", "simulate", "can", "--out", folder / "good", "--frames", "40000", "--seed", "3", "--format", "candump")
    return folder / "good"


@pytest.mark.parametrize("shards", [None, 1, 3])
def test_the_bytes_are_those_of_one_process(client, captures, tmp_path, shards):
    import plimsoll.dask

    plimsoll.ingest.can(captures, tmp_path / "whole")
    made = plimsoll.dask.ingest(client, captures, tmp_path / "made", shards=shards, budget=64 << 20)
    assert len(made) == len(plimsoll.open(tmp_path / "whole"))
    assert same(tmp_path / "whole", tmp_path / "made")
    assert sorted(os.listdir(tmp_path)) == ["made", "whole"]
    plimsoll.dask.ingest(client, captures, tmp_path / "made", shards=shards)  # there already


def test_errors_come_from_the_workers(client, captures, tmp_path):
    import plimsoll.dask

    bad = tmp_path / "captures" / "train"
    bad.mkdir(parents=True)
    (bad / "bad.log").write_text("(1.0) can0 123#00\n(1.1) can0 nonsense\n")
    with pytest.raises(plimsoll.InputError, match="bad.log:2"):
        plimsoll.dask.ingest(client, tmp_path / "captures", tmp_path / "out")
    with pytest.raises(plimsoll.BudgetExceeded):
        plimsoll.dask.ingest(client, captures, tmp_path / "out", budget=4096)
    with pytest.raises(plimsoll.UsageError, match="threads is settled"):
        plimsoll.dask.ingest(client, captures, tmp_path / "out", threads=2)
    assert not (tmp_path / "out").exists()

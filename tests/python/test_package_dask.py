"""Captures read by Dask's workers make the set that one process makes."""

import filecmp
import os
import sys
import tempfile

import pytest

from slurm import Slurm, reason_to_skip

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
    with pytest.raises(plimsoll.UsageError, match="threads is set by"):
        plimsoll.dask.ingest(client, captures, tmp_path / "out", threads=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="starts a SLURM and jobs of Dask in it; set PLIMSOLL_SLOW")
def test_workers_may_be_jobs_of_slurm(captures, tmp_path_factory, monkeypatch):
    import plimsoll.dask

    jobqueue = pytest.importorskip("dask_jobqueue", reason="Dask's jobs are not installed: pip install dask-jobqueue")
    if reason := reason_to_skip():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("jobs")
    plimsoll.ingest.can(captures, folder / "whole")
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, Slurm(name) as slurm:
        monkeypatch.setenv("SLURM_CONF", slurm.env["SLURM_CONF"])
        with jobqueue.SLURMCluster(
            queue="main", cores=1, processes=1, memory="512MiB", job_mem="512M", walltime="00:05:00", interface="lo",
            scheduler_options={"dashboard_address": None, "host": "127.0.0.1"}, local_directory=str(folder / "dask"),
            log_directory=str(folder / "dask"), python=sys.executable) as cluster:
            cluster.scale(jobs=2)
            with distributed.Client(cluster) as client:
                client.wait_for_workers(2, timeout=120)
                for shards in (None, 3):
                    plimsoll.dask.ingest(client, captures, folder / f"made-{shards}", shards=shards, budget=64 << 20)
                    assert same(folder / "whole", folder / f"made-{shards}")

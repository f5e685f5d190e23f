"""`plimsoll stage`: one whole copy of a data set on a faster disk, however many jobs make it and whatever stops them."""

import filecmp
import json
import os
import signal
import subprocess
import time

import pytest


def stage(bin_dir, *arguments, **environment):
    return subprocess.run([str(bin_dir / "plimsoll"), "stage", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300)


def same(a, b):
    files = sorted(path.name for path in a.iterdir())
    assert files == sorted(path.name for path in b.iterdir())
    return filecmp.cmpfiles(a, b, files, shallow=False)[0] == files


def copies(root):
    """Names of what lies there, without those that say in which boot a copy was made."""
    return [path.name for path in root.iterdir() if path.suffix != ".boot"]


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stage") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "2000000", "--seed", "3")
    return folder


def test_a_copy_is_made_once_and_printed(bin_dir, frames, tmp_path):
    first = stage(bin_dir, frames, "--to", tmp_path, "--json")
    summary = json.loads(first.stdout)
    assert not summary["already_there"] and summary["copied_bytes"] == summary["bytes"] > 30e6
    second = stage(bin_dir, frames, "--to", tmp_path)
    assert second.stdout.strip() == summary["folder"] and "already there" in second.stderr
    assert f"export PLIMSOLL_CACHE={tmp_path}" in second.stderr


def test_the_roots(bin_dir, frames, tmp_path):
    for name, environment in (("a", {"PLIMSOLL_CACHE": f"{tmp_path}/a"}), ("b/plimsoll", {"TMPDIR": f"{tmp_path}/b"}),
                              ("c/plimsoll", {"SLURM_TMPDIR": f"{tmp_path}/c", "TMPDIR": f"{tmp_path}/b"})):
        done = stage(bin_dir, frames, "--to", "scratch", **environment)
        assert done.stdout.startswith(f"{tmp_path}/{name}/frames-"), done.stderr
    assert stage(bin_dir, frames).returncode == 2


def test_kills_at_any_moment_end_in_one_whole_copy(bin_dir, frames, tmp_path):
    command = [str(bin_dir / "plimsoll"), "stage", str(frames), "--to", str(tmp_path), "--json"]
    for wait, number in ((0.01, signal.SIGKILL), (0.02, signal.SIGKILL), (0.03, signal.SIGTERM), (0.04, signal.SIGKILL)):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(number)
        process.wait()
    summary = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert copies(tmp_path) == [os.path.basename(summary["folder"])]
    assert same(frames, tmp_path / summary["folder"])


def test_jobs_at_once_make_one_copy(bin_dir, frames, tmp_path):
    command = [str(bin_dir / "plimsoll"), "stage", str(frames), "--to", str(tmp_path), "--json"]
    jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    summaries = [json.loads(job.communicate(timeout=120)[0]) for job in jobs]
    assert sum(summary["copied_bytes"] > 0 for summary in summaries) == 1
    assert len({summary["folder"] for summary in summaries}) == 1 and len(copies(tmp_path)) == 1


def test_a_full_disk_is_refused_before_anything_is_written(bin_dir, frames, tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        done = stage(bin_dir, frames, "--to", mount)
        assert done.returncode == 1 and "are free; delete copies with `plimsoll stage --evict`" in done.stderr
        assert not list(mount.iterdir())
    finally:
        subprocess.run(["umount", mount])


def test_train_and_evaluate_read_the_copy_and_say_so(bin_dir, run, tmp_path):
    run("plimsoll", "simulate", "can", "--out", tmp_path / "frames", "--frames", "30000", "--seed", "5")
    recipe = tmp_path / "small.yaml"
    recipe.write_text("task: detection\ntraining: {max_epochs: 1, batch_size: 64}\ngat: {hidden: 8, heads: 2}\n")
    weights = {}
    for name, environment in (("plain", {}), ("staged", {"PLIMSOLL_CACHE": str(tmp_path / "cache")})):
        if environment:
            assert stage(bin_dir, tmp_path / "frames", **environment).returncode == 0
        done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", "train", recipe, "--data", tmp_path / "frames",
                                                      "--run", tmp_path / name, "--json", "--threads", 1)],
                              capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 0, done.stderr
        assert ("reading the staged copy" in done.stderr) == (name == "staged")
        weights[name] = json.loads(done.stdout)["weights"]
    assert weights["plain"] == weights["staged"]
    evaluated = subprocess.run([str(word) for word in (bin_dir / "plimsoll", "evaluate", tmp_path / "staged", "--data",
                                                       tmp_path / "frames")], capture_output=True, text=True,
                               env={**os.environ, "PLIMSOLL_CACHE": str(tmp_path / "cache")})
    assert evaluated.returncode == 0 and "reading the staged copy" in evaluated.stderr


def test_evict(bin_dir, frames, tmp_path):
    assert stage(bin_dir, frames, "--to", tmp_path).returncode == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine-0123456789abcdef").mkdir()
    (tmp_path / "mine-0123456789abcdef" / "thesis.tex").write_text("thesis")
    done = stage(bin_dir, "--evict", "--to", tmp_path, "--json")
    summary = json.loads(done.stdout)
    assert summary["bytes"] > 30e6 and len(summary["evicted"]) == 1 and summary["left"] == ["mine-0123456789abcdef"]
    assert f"{tmp_path}/mine-0123456789abcdef: not deleted" in done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine", "mine-0123456789abcdef", "thesis.tex"]

"""Files of the package are there whole or not at all, and stay after a power failure."""

import os

import pytest
from package_data import plimsoll  # noqa: F401
from plimsoll import replacing


@pytest.fixture
def calls(monkeypatch):
    """What is synced and renamed, in order."""
    seen, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        seen.append(("sync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))
        fsync(descriptor)

    def replaced(source, target):
        seen.append(("rename", os.path.basename(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    return seen


def test_a_file_is_synced_then_renamed_then_its_folder_is_synced(calls, tmp_path):
    (tmp_path / "a").write_text("old")
    with replacing.new_file(tmp_path / "a") as made:
        made.write_text("new")
    assert calls == [("sync", made.name), ("rename", "a"), ("sync", tmp_path.name)]
    assert (tmp_path / "a").read_text() == "new" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("mine"), KeyboardInterrupt()])
def test_a_file_that_fails_leaves_the_old_one(tmp_path, error):
    (tmp_path / "a").write_text("old")
    expected = replacing.Failure if isinstance(error, OSError) else type(error)
    with pytest.raises(expected), replacing.new_file(tmp_path / "a") as made:
        made.write_text("new")
        raise error
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["n" * 255, "n" * 240, "n" + "\u20ac" * 84])
def test_outputs_may_have_the_longest_names(tmp_path, name):
    with replacing.new_file(tmp_path / name) as made:
        made.write_text("file")
    (tmp_path / name).unlink()
    with replacing.new_folder(tmp_path / name) as made:
        (made / "a").write_text("folder")
    assert os.listdir(tmp_path) == [name] and os.listdir(tmp_path / name) == ["a"]


def test_what_a_training_in_python_says_is_synced(calls, tmp_path):
    pytest.importorskip("torch")
    from plimsoll.journal import RunJournal

    with RunJournal(tmp_path / "run") as journal:
        journal.start(total=1, max_epochs=1)
        journal.epoch(1, training_loss=1.0)
        journal.end()
    for name in ("manifest.json", "metrics.csv"):
        at = calls.index(("rename", name))
        assert calls[at - 1] == ("sync", f"{name}.tmp") and calls[at + 1][0] == "sync"

"""Clang finds members of base/mutex.h that are used without their mutex."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLASS = """#include "base/shared_mutex.h"
using namespace plimsoll;
class Shelf {
  void change() PLIMSOLL_REQUIRES(mutex_) { ++books_; }
  int read() PLIMSOLL_REQUIRES_SHARED(shared_) { return papers_; }
  void test(std::stop_token stop) { (void)stop; %s }
  Mutex mutex_;
  ConditionVariable changed_;
  StoppableConditionVariable stopped_;
  SharedMutex shared_;
  int books_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int papers_ PLIMSOLL_GUARDED_BY(shared_) = 0;
};
"""
WAIT = "changed_.wait(mutex_, [&]() PLIMSOLL_REQUIRES(mutex_) { return books_ > 0; });"


def analysed(tmp_path, code):
    """What clang prints about a function of Shelf with this body."""
    if shutil.which("clang++") is None:
        pytest.skip("no clang++ here: scripts/bootstrap check installs it")
    (tmp_path / "a.cc").write_text(CLASS % code)
    flags = ["-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", f"-I{ROOT}/src"]
    done = subprocess.run(["clang++", *flags, tmp_path / "a.cc"], capture_output=True, text=True)
    assert (done.returncode != 0) == ("thread-safety" in done.stderr), done.stderr
    return done.stderr


@pytest.mark.parametrize("code", [
    "const MutexLock lock(mutex_); ++books_; change();",
    "MutexLock lock(mutex_); ++books_; lock.unlock(); lock.lock(); ++books_;",
    "const MutexLock lock(mutex_); { const MutexUnlock unlocked(mutex_); } ++books_;",
    "if (!mutex_.try_lock()) return; const MutexLock lock(mutex_, std::adopt_lock); ++books_;",
    f"const MutexLock lock(mutex_); {WAIT} ++books_;",
    "const MutexLock lock(mutex_); stopped_.wait(mutex_, stop, [&]() PLIMSOLL_REQUIRES(mutex_) { return books_ > 0; });",
    "const SharedLock lock(shared_); (void)(papers_ + read());",
    "const ExclusiveLock lock(shared_); papers_ += read();",
])
def test_guarded_members_may_be_used_with_their_mutex(tmp_path, code):
    assert analysed(tmp_path, code) == ""


@pytest.mark.parametrize("code, said", [
    ("++books_;", "'books_' requires holding mutex 'mutex_'"),
    ("change();", "'change' requires holding mutex 'mutex_'"),
    ("MutexLock lock(mutex_); lock.unlock(); ++books_;", "'books_' requires holding mutex 'mutex_'"),
    ("const MutexLock lock(mutex_); const MutexUnlock unlocked(mutex_); ++books_;", "'books_' requires holding"),
    ("const MutexLock lock(mutex_); changed_.wait(mutex_, [&] { return books_ > 0; });", "'books_' requires holding"),
    (WAIT, "requires holding mutex 'mutex_'"),
    ("mutex_.lock();", "'mutex_' is still held at the end of function"),
    ("papers_ = read();", "'papers_' requires holding mutex 'shared_'"),
    ("const SharedLock lock(shared_); papers_ = 1;", "'papers_' requires holding mutex 'shared_' exclusively"),
])
def test_other_uses_are_found(tmp_path, code, said):
    assert said in analysed(tmp_path, code)

#include "tasks/gnn/layers_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "io/scratch_file.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Sets TMPDIR, and restores its former value.
class TemporaryFolderIs {
 public:
  explicit TemporaryFolderIs(const fs::path& folder) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  ~TemporaryFolderIs() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }
  TemporaryFolderIs(const TemporaryFolderIs&) = delete;
  TemporaryFolderIs& operator=(const TemporaryFolderIs&) = delete;

 private:
  std::string before_;
};

class LayersFolder : public testing::Test {
 protected:
  static constexpr int64_t kBytes = 1 << 20;

  void SetUp() override {
    if (ScratchFile::is_in_memory(folder_.path())) GTEST_SKIP() << "temporary files are in memory";
    if (!ScratchFile::is_in_memory("/dev/shm")) GTEST_SKIP() << "/dev/shm is not memory here";
  }
  const TempFolder folder_;
};

TEST_F(LayersFolder, IsThatOfTheRunOnADisk) {
  EXPECT_EQ(layers_folder({folder_.path()}, kBytes), folder_ / "layers");
}

TEST_F(LayersFolder, IsNeverInMemory) {
  const TemporaryFolderIs temporary(folder_.path());
  EXPECT_EQ(layers_folder({"/dev/shm"}, kBytes), folder_ / "plimsoll-layers");
  const TemporaryFolderIs memory("/dev/shm");
  if (ScratchFile::free_bytes("/var/tmp") >= kBytes && ::access("/var/tmp", W_OK) == 0) {
    EXPECT_EQ(layers_folder({"/dev/shm"}, kBytes), "/var/tmp/plimsoll-layers");
  }
}

TEST_F(LayersFolder, NoPlaceIsAnErrorWithTheReasons) {
  const TemporaryFolderIs temporary(folder_ / "missing");
  EXPECT_THAT(
      error_text<Failure>([] { layers_folder({"/dev/shm"}, int64_t{1} << 60); }),
      AllOf(HasSubstr("/dev/shm: in memory (tmpfs)"), HasSubstr("missing: No such file or directory"),
            HasSubstr("/var/tmp: "), HasSubstr("set TMPDIR to a folder on a disk with enough space")));
}

}  // namespace
}  // namespace plimsoll

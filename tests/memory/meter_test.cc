#include "memory/meter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "base/units.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr int64_t kPiece = 64 * kMiB;
constexpr int64_t kSlack = 4 * kMiB;  // Bytes that the program itself may allocate meanwhile.

/// 64 MiB of memory with every page touched. It is anonymous unless mapped with other flags or from a file.
class TouchedMemory {
 public:
  explicit TouchedMemory(int flags = MAP_PRIVATE | MAP_ANONYMOUS)
      : data_(::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, flags, -1, 0)) {
    if (data_ != MAP_FAILED) std::memset(data_, 1, kPiece);
  }
  explicit TouchedMemory(const std::filesystem::path& file) {
    const int fd = ::open(file.c_str(), O_RDONLY);
    data_ = ::mmap(nullptr, kPiece, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    ::close(fd);
  }
  ~TouchedMemory() { ::munmap(data_, kPiece); }
  TouchedMemory(const TouchedMemory&) = delete;
  TouchedMemory& operator=(const TouchedMemory&) = delete;

 private:
  void* data_;
};

/// A made-up system: a tree of /proc and /sys.
class MadeUpSystem : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<CgroupMemory> group() const { return cgroup_memory(root_.path().string()); }
  ProcessMemory process() const { return process_memory(root_.path().string()); }

  TempFolder root_;
};

TEST_F(MadeUpSystem, TheStatusOfTheProcessIsReadInKiB) {
  write("proc/self/status",
        "Name:\ta program: RssAnon: 1 kB\nVmRSS:\t  170 kB\nRssAnon:\t     100 kB\nRssFile:\t    4000 kB\n"
        "RssShmem:\t       7 kB\nVmSwap:\t 5 kB\n");
  EXPECT_EQ(process().anonymous, 100 * kKiB);
  EXPECT_EQ(process().file_backed, 4000 * kKiB);
  EXPECT_EQ(process().shared, 7 * kKiB);
}

TEST_F(MadeUpSystem, WhatTheStatusDoesNotSayIsZero) {
  EXPECT_EQ(process().anonymous, 0);
  for (const char* text :
       {"", "\n", "RssAnon:", "RssAnon:\n", "RssAnon: lots kB\n", "Name: x\nVmRSS: 170 kB\n"}) {
    write("proc/self/status", text);
    EXPECT_EQ(process().anonymous, 0) << text;
    EXPECT_EQ(process().file_backed, 0) << text;
  }
}

TEST_F(MadeUpSystem, CgroupV1HasAUsageAndItsPeak) {
  write("proc/self/cgroup", "11:cpu,cpuacct:/other\n4:memory:/slurm/job_7\n0::/\n");
  write("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", "300000000\n");
  write("sys/fs/cgroup/memory/slurm/job_7/memory.max_usage_in_bytes", "500000000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900000000\n");
  ASSERT_TRUE(group());
  EXPECT_EQ(group()->source, "cgroup v1 /slurm/job_7");
  EXPECT_EQ(group()->bytes, 300'000'000);
  EXPECT_EQ(group()->peak, 500'000'000);
}

TEST_F(MadeUpSystem, CgroupV2HasAPeakWhereTheKernelKeepsIt) {
  write("proc/self/cgroup", "0::/user.slice/app\n");
  write("sys/fs/cgroup/user.slice/app/memory.current", "0\n");
  ASSERT_TRUE(group());
  EXPECT_EQ(group()->source, "cgroup v2 /user.slice/app");
  EXPECT_EQ(group()->bytes, 0);
  EXPECT_FALSE(group()->peak);
  write("sys/fs/cgroup/user.slice/app/memory.peak", "700000000\n");
  EXPECT_EQ(group()->peak, 700'000'000);
}

TEST_F(MadeUpSystem, WhereAGroupDoesNotCountMemoryItsNearestParentDoes) {
  write("proc/self/cgroup", "0::/user.slice/app/part\n");
  write("sys/fs/cgroup/user.slice/app/part/cgroup.procs", "1\n");
  write("sys/fs/cgroup/user.slice/app/memory.current", "2\n");
  write("sys/fs/cgroup/user.slice/memory.current", "3\n");
  EXPECT_EQ(group()->source, "cgroup v2 /user.slice/app");
}

TEST_F(MadeUpSystem, AContainerThatSeesOnlyItsOwnMountHasTheGroupOfTheMount) {
  write("proc/self/cgroup", "5:hugetlb:/docker/a1\n4:memory:/docker/a1\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "600000000\n");
  ASSERT_TRUE(group());
  EXPECT_EQ(group()->source, "cgroup v1 /");
  EXPECT_FALSE(group()->peak);
}

TEST_F(MadeUpSystem, AbsurdGroupsAreNone) {
  EXPECT_FALSE(group());
  for (const char* text : {"", "\n", ":\n", "::\n", "0::\n", "0::no_slash\n", "0::a/b\n", "garbage\n",
                           "4:memory\n", "0:://///\n", "0::/../..\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_FALSE(group()) << "the line is " << text;
  }
  write("proc/self/cgroup", "0::/job\n");
  for (const char* text : {"", "\n", "-5\n", "max\n", "99999999999999999999\n", "\x01\x02\n"}) {
    write("sys/fs/cgroup/job/memory.current", text);
    EXPECT_FALSE(group()) << "memory.current is " << text;
  }
}

TEST(ProcessMemory, TouchedMemoryIsAnonymousAndGoesWhenFreed) {
  const int64_t before = process_memory().anonymous;
  EXPECT_GT(before, 0);
  {
    const TouchedMemory memory;
    const int64_t during = process_memory().anonymous;
    EXPECT_GE(during, before + kPiece - kSlack);
#ifndef __SANITIZE_THREAD__  // The thread sanitizer holds several bytes for each byte that is touched.
    EXPECT_LE(during, before + kPiece + kSlack);
#endif
  }
  EXPECT_LE(process_memory().anonymous, before + kSlack);
}

TEST(ProcessMemory, TheProgramItselfIsFileBacked) {
  EXPECT_GT(process_memory().file_backed, 0);
}

TEST(ProcessMemory, AMappedFileIsFileBackedAndCostsNothingAnonymous) {
  const TempFolder folder;
  { std::ofstream(folder / "file") << std::string(kPiece, 'x'); }
  const ProcessMemory before = process_memory();
  const TouchedMemory memory(folder / "file");
  const ProcessMemory during = process_memory();
  EXPECT_LE(during.anonymous, before.anonymous + kSlack);
  if (during.shared >= before.shared + kPiece - kSlack) GTEST_SKIP() << "the folder of tests is a tmpfs";
  EXPECT_GE(during.file_backed, before.file_backed + kPiece - kSlack);
  EXPECT_LE(during.file_backed, before.file_backed + kPiece + kSlack);
}

TEST(ProcessMemory, MemoryToShareIsShared) {
  const ProcessMemory before = process_memory();
  const TouchedMemory memory(MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_GE(process_memory().shared, before.shared + kPiece - kSlack);
#ifndef __SANITIZE_THREAD__
  EXPECT_LE(process_memory().anonymous, before.anonymous + kSlack);
#endif
}

TEST(CgroupMemory, ThisSystemsGroupHoldsWhatWeHold) {
  if (!cgroup_memory()) GTEST_SKIP() << "no memory cgroup is shown here";
  const TouchedMemory memory;
  const CgroupMemory group = *cgroup_memory();
  EXPECT_GE(group.bytes, kPiece - kSlack);
  EXPECT_GE(group.peak.value_or(kPiece), kPiece - kSlack);
}

TEST(Meter, ItsFloorIsWhatWasHeldWhenItWasMade) {
  const TouchedMemory held;
  const int64_t before = process_memory().anonymous;
  Meter meter;
  const TouchedMemory memory;
  EXPECT_GE(before, kPiece);
  EXPECT_NEAR(static_cast<double>(meter.floor()), static_cast<double>(before), static_cast<double>(kSlack));
  EXPECT_GE(meter.peak_anonymous(), meter.floor() + kPiece - kSlack);
}

TEST(Meter, ItsThreadSeesAPeakThatIsOverWhenAsked) {
  const int64_t before = process_memory().anonymous;
  Meter meter;
  {
    const TouchedMemory memory;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // Ten samples.
  }
  EXPECT_LE(process_memory().anonymous, before + kSlack);
  EXPECT_GE(meter.peak_anonymous(), before + kPiece - kSlack);
}

TEST(Meter, AskingTakesASampleAtOnce) {
  Meter meter;
  const TouchedMemory memory;
  EXPECT_GE(meter.peak_anonymous(), kPiece);
}

TEST(Meter, EndsWithItsScopeWithoutWaitingForASample) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) Meter meter;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1900));
}

}  // namespace
}  // namespace plimsoll

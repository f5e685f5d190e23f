#include "memory/enforce.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/units.h"
#include "memory/meter.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

int64_t soft_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t stack_of_a_thread() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(bytes);
}

TEST(DataLimit, IsTheBudgetAndWhatAddressesExceedMemoryByAndStacks) {
  const TempFolder root;
  write_file(root / "proc/self/status", "VmData:\t 5000 kB\nRssAnon:\t 3000 kB\n");
  const std::string path = root.path().string();
  const int64_t without = data_limit(100 * kMiB, 0, path);
  EXPECT_EQ(without, 100 * kMiB + 2000 * kKiB + 16 * kMiB);
  const int64_t stack = data_limit(100 * kMiB, 1, path) - without;
  EXPECT_GE(stack, 64 * kKiB);
  EXPECT_EQ(data_limit(100 * kMiB, 3, path), without + 3 * stack);
}

TEST(Enforcement, RefusesWhatPassesTheBudgetAndEndsWithItsScope) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more";
#endif
  const int64_t before = soft_limit();
  const auto map = [](int64_t bytes) {
    return ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
  };
  {
    const int64_t held = process_memory().anonymous;
    const Enforcement enforcement(held + 64 * kMiB, 0);
    EXPECT_EQ(enforcement.rlimit_data(), soft_limit());
    void* const much = map(100 * kMiB);
    EXPECT_EQ(much, MAP_FAILED);
    void* const enough = map(60 * kMiB);
    ASSERT_NE(enough, MAP_FAILED);
    ::munmap(enough, 60 * kMiB);
  }
  EXPECT_EQ(soft_limit(), before);
}

TEST(ThreadStacks, TakeAddressesWhileTheyLive) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more";
#endif
  const int64_t before = soft_limit();
  const int64_t stack = stack_of_a_thread();
  {
    const Enforcement enforcement(process_memory().anonymous + 64 * kMiB, 0);
    const int64_t without = soft_limit();
    {
      const ThreadStacks some(16);
      EXPECT_EQ(soft_limit(), without + 16 * stack);
      const ThreadStacks more(16);
      EXPECT_EQ(soft_limit(), without + 32 * stack);
    }
    // The size of glibc's stack cache.
    EXPECT_EQ(soft_limit(), without + std::min<int64_t>(32 * stack, 40 * kMiB));
  }
  EXPECT_EQ(soft_limit(), before);
  const ThreadStacks without_enforcement(16);
  EXPECT_EQ(soft_limit(), before);
}

TEST(ScopedCgroup, OfV1IsMadeBelowOursAndThoseOfDeadProcessesGo) {
  const TempFolder root;
  const fs::path parent = root / "sys/fs/cgroup/memory/job";
  write_file(root / "proc/self/cgroup", "4:memory:/job\n");
  write_file(parent / "memory.limit_in_bytes", "9223372036854771712\n");
  for (const char* other : {"plimsoll_1999999999", "plimsoll_1", "plimsoll_x", "other_1999999999"})
    fs::create_directories(parent / other);
  const std::string name = "plimsoll_" + std::to_string(::getpid());
  {
    const ScopedCgroup group(1234567, root.path().string());
    EXPECT_EQ(group.name(), "cgroup v1 /job/" + name);
    EXPECT_EQ(group.refusal(), "");
    EXPECT_EQ(text_of(parent / name / "memory.limit_in_bytes"), "1234567");
    EXPECT_EQ(text_of(parent / name / "cgroup.procs"), "0");
    EXPECT_FALSE(fs::exists(parent / "plimsoll_1999999999"));
    EXPECT_TRUE(fs::exists(parent / "plimsoll_1")) << "that process lives";
    EXPECT_TRUE(fs::exists(parent / "plimsoll_x"));
    EXPECT_TRUE(fs::exists(parent / "other_1999999999"));
    fs::remove_all(parent / name);  // The files of a real group do not prevent its removal.
    fs::create_directory(parent / name);
  }
  EXPECT_EQ(text_of(parent / "cgroup.procs"), "0");
  EXPECT_FALSE(fs::exists(parent / name));
}

TEST(ScopedCgroup, OfV2LeavesItsParentFirstWhichThenSharesMemoryOut) {
  const TempFolder root;
  const fs::path parent = root / "sys/fs/cgroup/job";
  write_file(root / "proc/self/cgroup", "0::/job\n");
  write_file(parent / "cgroup.controllers", "cpu memory pids\n");
  write_file(parent / "cgroup.subtree_control", "cpu");
  const fs::path folder = parent / ("plimsoll_" + std::to_string(::getpid()));
  {
    const ScopedCgroup group(1234567, root.path().string());
    EXPECT_EQ(group.refusal(), "");
    EXPECT_EQ(text_of(folder / "memory.max"), "1234567");
    EXPECT_EQ(text_of(parent / "cgroup.subtree_control"), "+memory");
  }
  EXPECT_EQ(text_of(parent / "cgroup.subtree_control"), "-memory");
  EXPECT_EQ(text_of(parent / "cgroup.procs"), "0");
}

TEST(ScopedCgroup, WhereThereIsNoneOrNoRightToOneItSaysSo) {
  const TempFolder root;
  const ScopedCgroup none(1, root.path().string());
  EXPECT_EQ(none.name(), "");
  EXPECT_EQ(none.refusal(), "no memory cgroup is visible here");
  write_file(root / "proc/self/cgroup", "0::/job\n");
  write_file(root / "sys/fs/cgroup/job/cgroup.controllers", "cpu pids\n");
  EXPECT_EQ(ScopedCgroup(1, root.path().string()).name(), "") << "memory is not delegated";
  write_file(root / "proc/self/cgroup", "4:memory:/job\n");
  write_file(root / "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9\n");
  write_file(root / ("sys/fs/cgroup/memory/job/plimsoll_" + std::to_string(::getpid())), "in the way");
  const ScopedCgroup refused(1, root.path().string());
  EXPECT_EQ(refused.name(), "");
  EXPECT_NE(refused.refusal().find("cannot make"), std::string::npos) << refused.refusal();
}

// Runs on the real system, where that is allowed.
TEST(ScopedCgroup, HoldsThisProcessWhileItLives) {
  std::string name;
  {
    const ScopedCgroup group(1 << 30);
    if (group.name().empty()) GTEST_SKIP() << group.refusal();
    name = group.name();
    EXPECT_EQ(memory_groups()[0].name(), name);
    EXPECT_EQ(memory_groups()[0].limit(), 1 << 30);
  }
  EXPECT_NE(memory_groups()[0].name(), name);
  for (const MemoryGroup& group : memory_groups())
    EXPECT_FALSE(fs::exists(group.folder + "/plimsoll_" + std::to_string(::getpid())));
}

}  // namespace
}  // namespace plimsoll

#include "memory/limits.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/units.h"
#include "memory/meter.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kSlurmVariables[] = {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE",
                                           "SLURM_MEM_PER_GPU", "SLURM_GPUS_ON_NODE"};

/// A made-up system: a tree of /proc and /sys, without SLURM.
class Limits : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kSlurmVariables) ::unsetenv(name);
    write("proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1 kB\nMemAvailable: 1048576 kB\n");
  }
  void TearDown() override {
    for (const char* name : kSlurmVariables) ::unsetenv(name);
  }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::vector<Limit> find() const { return find_limits(root_.path().string()); }
  std::optional<Limit> find(const std::string& source) const {
    for (const Limit& limit : find())
      if (limit.source == source) return limit;
    return std::nullopt;
  }
  bool finds_cgroups() const {
    for (const Limit& limit : find())
      if (limit.source.starts_with("cgroup")) return true;
    return false;
  }

  TempFolder root_;
};

TEST_F(Limits, MemAvailableIsATotalOfWhichOthersHoldAPart) {
  write("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n");
  const auto limit = find("MemAvailable");
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->bytes, 4 * kGiB);
  // Memory that is not available is held by other processes, except for this process's own memory.
  EXPECT_LE(limit->others, 3 * kGiB);
  EXPECT_NEAR(static_cast<double>(limit->others), static_cast<double>(3 * kGiB - process_memory().anonymous),
              16.0 * kMiB);
  EXPECT_EQ(limit->usable(), limit->bytes - limit->others);
}

TEST_F(Limits, CgroupV1IsFoundWithAllItsParents) {
  write("proc/self/cgroup", "11:cpu,cpuacct:/other\n4:memory:/slurm/job_7/step_0\n1:name=systemd:/x\n");
  const std::string base = "sys/fs/cgroup/memory";
  write(base + "/slurm/job_7/step_0/memory.limit_in_bytes", "300000000\n");
  write(base + "/slurm/job_7/memory.limit_in_bytes", "200000000\n");
  write(base + "/slurm/memory.limit_in_bytes", "9223372036854771712\n");
  write(base + "/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(find("cgroup v1 /slurm/job_7/step_0")->bytes, 300'000'000);
  EXPECT_EQ(find("cgroup v1 /slurm/job_7")->bytes, 200'000'000);
  EXPECT_FALSE(find("cgroup v1 /slurm")) << "the kernel's largest number means no limit";
  EXPECT_FALSE(find("cgroup v1 /"));
}

TEST_F(Limits, CgroupV1CountsALimitOfParentsThatAreOutOfSight) {
  write("proc/self/cgroup", "4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500000000\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "cache 5\nhierarchical_memory_limit 400000000\n");
  EXPECT_EQ(find("cgroup v1 /job")->bytes, 400'000'000);
}

TEST_F(Limits, CgroupV2IsFoundWithAllItsParents) {
  write("proc/self/cgroup", "0::/user.slice/app\n");
  write("sys/fs/cgroup/user.slice/app/memory.max", "max\n");
  write("sys/fs/cgroup/user.slice/memory.max", "700000000\n");
  EXPECT_EQ(find("cgroup v2 /user.slice")->bytes, 700'000'000);
  EXPECT_FALSE(find("cgroup v2 /user.slice/app")) << "max means no limit";
}

TEST_F(Limits, AContainerThatSeesOnlyItsOwnMountHasTheLimitOfTheMount) {
  write("proc/self/cgroup", "0::/kubepods/pod_1\n");
  write("sys/fs/cgroup/memory.max", "600000000\n");
  EXPECT_EQ(find("cgroup v2 /")->bytes, 600'000'000);
}

TEST_F(Limits, WhatOthersHoldInTheGroupIsTakenOff) {
  write("proc/self/cgroup", "0::/job\n4:memory:/old\n");
  write("sys/fs/cgroup/job/memory.max", "900000000000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 500000000000\nfile 1\n");
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "900000000000\n");
  write("sys/fs/cgroup/memory/old/memory.stat", "rss 1\ntotal_rss 400000000000\n");
  const double own = static_cast<double>(process_memory().anonymous);
  EXPECT_NEAR(static_cast<double>(find("cgroup v2 /job")->others), 500e9 - own, 16.0 * kMiB);
  EXPECT_NEAR(static_cast<double>(find("cgroup v1 /old")->others), 400e9 - own, 16.0 * kMiB);
}

TEST_F(Limits, AGroupInWhichOnlyWeLiveHasNoOthers) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "900000000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 1\n");
  EXPECT_EQ(find("cgroup v2 /job")->others, 0);
}

TEST_F(Limits, AbsurdValuesAreNoLimits) {
  write("proc/self/cgroup", "0::/job\n");
  for (const char* text : {"", "\n", "0\n", "-5\n", "lots\n", "99999999999999999999999\n",
                           "9223372036854775807\n", "2000000000000000000\n", "\x01\x02\n"}) {
    write("sys/fs/cgroup/job/memory.max", text);
    EXPECT_FALSE(finds_cgroups()) << "memory.max is " << text;
  }
}

TEST_F(Limits, AbsurdGroupLinesAreSurvived) {
  write("sys/fs/cgroup/memory.max", "100000000\n");
  for (const char* text : {"", "\n", ":\n", "::\n", "0::\n", "0::no_slash\n", "0::a/b\n", "garbage\n",
                           "4:memory\n", "0:://///\n", "0::/../..\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_NO_THROW(find()) << "the line is " << text;
  }
}

TEST_F(Limits, SlurmsFiguresAreMegabytesANodeACpuAndAGpu) {
  ::setenv("SLURM_MEM_PER_NODE", "4000", 1);
  ::setenv("SLURM_MEM_PER_CPU", "1000", 1);
  ::setenv("SLURM_CPUS_ON_NODE", "3", 1);
  ::setenv("SLURM_MEM_PER_GPU", "500", 1);
  ::setenv("SLURM_GPUS_ON_NODE", "2", 1);
  EXPECT_EQ(find("SLURM_MEM_PER_NODE")->bytes, 4'000'000'000);
  EXPECT_EQ(find("SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE")->bytes, 3'000'000'000);
  EXPECT_EQ(find("SLURM_MEM_PER_GPU x SLURM_GPUS_ON_NODE")->bytes, 1'000'000'000);
}

TEST_F(Limits, SlurmsZeroMeansAllMemoryAndItsAbsurdValuesAreNoLimits) {
  for (const char* text : {"0", "", "lots", "-1", "1000000000000000", "99999999999999999999"}) {
    ::setenv("SLURM_MEM_PER_NODE", text, 1);
    ::setenv("SLURM_MEM_PER_CPU", text, 1);
    ::setenv("SLURM_CPUS_ON_NODE", "1000000000", 1);
    for (const Limit& limit : find())
      EXPECT_FALSE(limit.source.starts_with("SLURM")) << limit.source << " = " << text;
  }
  ::setenv("SLURM_MEM_PER_CPU", "1000", 1);
  ::unsetenv("SLURM_CPUS_ON_NODE");
  EXPECT_EQ(find().front().source.find("SLURM"), std::string::npos) << "a share of an unknown number";
}

TEST_F(Limits, ALimitOfTheShellIsFound) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit limited{rlim_t{1} << 59, before.rlim_max};
  if (::setrlimit(RLIMIT_DATA, &limited) != 0) GTEST_SKIP() << "a lower hard limit is set";
  EXPECT_EQ(find("RLIMIT_DATA")->bytes, int64_t{1} << 59);
  ::setrlimit(RLIMIT_DATA, &before);
}

TEST_F(Limits, ALimitOfAddressSpaceLeavesStacksToThreads) {
  const int64_t stacks = int64_t{std::thread::hardware_concurrency()} * (int64_t{1} << 20);
  for (const auto& [name, resource] :
       {std::pair{"RLIMIT_DATA", RLIMIT_DATA}, std::pair{"RLIMIT_AS", RLIMIT_AS}}) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(resource, &before), 0);
    const rlimit limited{rlim_t{1} << 59, before.rlim_max};
    if (::setrlimit(resource, &limited) != 0) GTEST_SKIP() << "a lower hard limit is set";
    EXPECT_GE(find(name)->others, stacks) << name;
    ::setrlimit(resource, &before);
  }
}

TEST_F(Limits, AnEmptySystemGivesNone) {
  std::filesystem::remove_all(root_ / "proc");
  for (const Limit& limit : find()) EXPECT_TRUE(limit.source.starts_with("RLIMIT")) << limit.source;
}

TEST(FindLimits, ThisSystemHasSome) {
  const std::vector<Limit> limits = find_limits();
  ASSERT_FALSE(limits.empty());
  for (const Limit& limit : limits) {
    EXPECT_GT(limit.bytes, 0) << limit.source;
    EXPECT_GE(limit.others, 0) << limit.source;
  }
}

TEST(DefaultBudget, IsTheLeastUsableLimitLess64MiB) {
  EXPECT_EQ(default_budget({{"a", 10 * kGiB, 0}, {"b", 12 * kGiB, 11 * kGiB}, {"c", 2 * kGiB, 0}}),
            kGiB - 64 * kMiB);
}

TEST(DefaultBudget, LeavesHalfOfASmallContainer) {
  EXPECT_EQ(default_budget({{"a", 48 * kMiB, 0}}), 24 * kMiB);
  EXPECT_EQ(default_budget({{"a", 100 * kMiB, 0}}), 50 * kMiB);
}

TEST(UsableMemory, IsTheLeastUsableLimit) {
  EXPECT_EQ(usable_memory({{"a", 10 * kGiB, 0}, {"b", 12 * kGiB, 11 * kGiB}}), kGiB);
}

TEST(DefaultBudget, IsAboveZeroWhereNothingIsLeft) {
  EXPECT_GT(default_budget({{"a", 32 * kMiB, 0}}), 0);
  EXPECT_GT(default_budget({{"a", kGiB, 2 * kGiB}}), 0);
}

}  // namespace
}  // namespace plimsoll

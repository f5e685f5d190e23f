#include "memory/pressure.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/units.h"
#include "support/temp_folder.h"

namespace plimsoll {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A made-up system that is inspected when the test requests it.
class MadeUpPressure : public testing::Test {
 protected:
  void SetUp() override { write("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 4000000 kB\n"); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void v1(int64_t limit, int64_t rss, int64_t usage = 0) {
    write("proc/self/cgroup", "4:memory:/job\n");
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(limit));
    write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(usage == 0 ? limit : usage));
    write("sys/fs/cgroup/memory/job/memory.stat", "cache 1\ntotal_cache " + std::to_string(limit - rss) +
                                                      "\ntotal_rss " + std::to_string(rss) + "\n");
  }
  void v2(const std::string& max, int64_t anonymous, const std::string& high = "max") {
    write("proc/self/cgroup", "0::/job\n");
    write("sys/fs/cgroup/job/memory.max", max);
    write("sys/fs/cgroup/job/memory.high", high);
    write("sys/fs/cgroup/job/memory.stat", "anon " + std::to_string(anonymous) + "\nfile 5\n");
  }
  void v2_events(int high, int max, int oom) {
    write("sys/fs/cgroup/job/memory.events", "low 0\nhigh " + std::to_string(high) + "\nmax " +
                                                 std::to_string(max) + "\noom " + std::to_string(oom) +
                                                 "\noom_kill 0\n");
  }
  void stalls(const std::string& file, int64_t total) {
    write(file, "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(total) +
                    "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  }
  PressureGauge& gauge() {
    if (!gauge_) gauge_.emplace(root_.path().string());
    return *gauge_;
  }
  int after(milliseconds time) {
    now_ += time;
    gauge().look(now_);
    return gauge().level();
  }
  int next() { return after(milliseconds(250)); }

  TempFolder root_;
  std::optional<PressureGauge> gauge_;
  PsiMonitor::Time now_{std::chrono::hours(1)};
};

TEST_F(MadeUpPressure, AGroupV1ThatIsFullOfPageCacheIsWell) {
  v1(512 * kMiB, 300 * kMiB);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(next(), 0);
}

TEST_F(MadeUpPressure, AGroupV1WithLittleLeftBesideAnonymousMemoryIsShort) {
  v1(512 * kMiB, 490 * kMiB);
  EXPECT_EQ(next(), 0) << "22 MiB are more than 16";
  v1(512 * kMiB, 500 * kMiB);
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(gauge().reason(), "cgroup v1 /job: 12 MiB of 512 MiB left next to 500 MiB of anonymous memory");
  EXPECT_EQ(next(), 2);
  EXPECT_EQ(next(), 2);
}

TEST_F(MadeUpPressure, ALimitOfAParentCounts) {
  write("proc/self/cgroup", "4:memory:/job/step\n");
  write("sys/fs/cgroup/memory/job/step/memory.stat",
        "hierarchical_memory_limit 9223372036854771712\ntotal_rss 5\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(100 * kMiB));
  write("sys/fs/cgroup/memory/job/memory.stat", "total_rss " + std::to_string(90 * kMiB) + "\n");
  EXPECT_EQ(next(), 1);
  EXPECT_TRUE(gauge().reason().starts_with("cgroup v1 /job: ")) << gauge().reason();
}

TEST_F(MadeUpPressure, ItIsOverWhenItHasBeenForFiveSecondsThenForTen) {
  v1(512 * kMiB, 500 * kMiB);
  EXPECT_EQ(next(), 1);
  v1(512 * kMiB, 400 * kMiB);
  EXPECT_EQ(after(milliseconds(4900)), 1);
  EXPECT_EQ(after(milliseconds(200)), 0);
  v1(512 * kMiB, 500 * kMiB);
  EXPECT_EQ(next(), 1);
  v1(512 * kMiB, 400 * kMiB);
  EXPECT_EQ(after(milliseconds(9900)), 1);
  EXPECT_EQ(after(milliseconds(200)), 0);
}

TEST_F(MadeUpPressure, ItIsNotOverWhileWhatWasGivenBackWouldBringItAgain) {
  v1(512 * kMiB, 500 * kMiB);
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(next(), 2);
  gauge().set_given_back(40 * kMiB);
  v1(512 * kMiB, 460 * kMiB);  // The group's own limit.
  EXPECT_EQ(after(seconds(60)), 2);
  v1(512 * kMiB, 455 * kMiB);
  EXPECT_EQ(after(seconds(60)), 0);
}

TEST_F(MadeUpPressure, TheLimitsOfV2AreMaxAndHigh) {
  v2(std::to_string(512 * kMiB), 480 * kMiB);
  EXPECT_EQ(next(), 0);
  v2(std::to_string(512 * kMiB), 480 * kMiB, std::to_string(490 * kMiB));
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(gauge().reason(), "cgroup v2 /job: 10 MiB of 490 MiB left next to 480 MiB of anonymous memory");
}

TEST_F(MadeUpPressure, EventsOfV2AlarmOnlyWhereLittleIsLeft) {
  v2(std::to_string(512 * kMiB), 300 * kMiB);
  v2_events(5, 5, 0);
  EXPECT_EQ(next(), 0) << "events before the first look";
  v2_events(6, 9, 0);
  EXPECT_EQ(next(), 0) << "page cache does that";
  v2(std::to_string(512 * kMiB), 485 * kMiB);
  EXPECT_EQ(next(), 0) << "27 MiB are left, and nothing happens";
  v2_events(6, 10, 0);
  EXPECT_EQ(next(), 1);
}

TEST_F(MadeUpPressure, MemoryThatAGroupDidNotFindIsAnAlarm) {
  v2("max", 300 * kMiB);
  v2_events(0, 0, 1);
  EXPECT_EQ(next(), 0);
  v2_events(0, 0, 2);
  EXPECT_EQ(next(), 1);
  EXPECT_NE(gauge().reason().find("the kernel found no free memory"), std::string::npos) << gauge().reason();
}

TEST_F(MadeUpPressure, EventsOfANeighboursLimitAreNotOurs) {
  v2("max", 300 * kMiB);
  v2_events(0, 0, 1);
  write("sys/fs/cgroup/job/memory.events.local", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
  EXPECT_EQ(next(), 0);
  v2_events(0, 0, 2);
  EXPECT_EQ(next(), 0);
}

TEST_F(MadeUpPressure, StallsAlarmWhereLittleIsLeftOrAnonymousMemoryWasSwappedOut) {
  v2(std::to_string(512 * kMiB), 300 * kMiB);
  const std::string file = "sys/fs/cgroup/job/memory.pressure";
  int64_t total = 1000;
  const auto stall = [&](int64_t microseconds) {
    stalls(file, total += microseconds);
    return next();
  };
  EXPECT_EQ(stall(0), 0);
  EXPECT_EQ(stall(240'000), 0) << "page cache does that";
  v2(std::to_string(512 * kMiB), 485 * kMiB);
  EXPECT_EQ(stall(240'000), 1);
  EXPECT_NE(gauge().reason().find("page cache is reclaimed"), std::string::npos) << gauge().reason();
  v2(std::to_string(512 * kMiB), 100 * kMiB);
  EXPECT_EQ(after(seconds(30)), 0);
  write("sys/fs/cgroup/job/memory.stat", "anon 1000\nworkingset_refault_anon 7\n");
  EXPECT_EQ(stall(0), 0);
  write("sys/fs/cgroup/job/memory.stat", "anon 1000\nworkingset_refault_anon 900\n");
  EXPECT_EQ(stall(240'000), 1);
  EXPECT_NE(gauge().reason().find("swapped-out memory"), std::string::npos) << gauge().reason();
}

TEST_F(MadeUpPressure, TheSystemsMemoryIsShortBelowAFloorWhichStallsRaise) {
  write("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 210000 kB\n");
  stalls("proc/pressure/memory", 5);
  EXPECT_EQ(next(), 0) << "205 of 4096 MiB are just enough";
  stalls("proc/pressure/memory", 1'000'005);
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(gauge().reason(), "MemAvailable: 205 MiB of 4 GiB left; tasks wait for memory");
  write("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 4000000 kB\n");
  EXPECT_EQ(after(seconds(30)), 0);
  write("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 200000 kB\n");
  EXPECT_EQ(next(), 1);
}

TEST_F(MadeUpPressure, AbsurdFilesAreNoPressure) {
  for (const char* text :
       {"", "\n", "-5", "garbage", "some", "some avg10=1 total=", "99999999999999999999"}) {
    write("proc/self/cgroup", "4:memory:/job\n0::/job\n");
    for (const char* file :
         {"sys/fs/cgroup/memory/job/memory.limit_in_bytes", "sys/fs/cgroup/memory/job/memory.stat",
          "sys/fs/cgroup/job/memory.max", "sys/fs/cgroup/job/memory.events",
          "sys/fs/cgroup/job/memory.pressure", "proc/pressure/memory", "proc/meminfo"})
      write(file, text);
    gauge_.reset();
    EXPECT_EQ(next(), 0) << text;
    EXPECT_EQ(after(seconds(1)), 0) << text;
  }
  std::filesystem::remove_all(root_ / "proc");
  gauge_.reset();
  EXPECT_EQ(next(), 0) << "nothing there";
}

TEST(PsiMonitor, IsQuietOnAQuietSystem) {
  PsiMonitor stalls("/proc/pressure/memory");
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(stalls.seen(now) && stalls.seen(now + seconds(3)) && stalls.seen(now + seconds(6)));
}

TEST(PressureWatch, EndsWithItsScopeWithoutWaitingForALook) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) PressureWatch watch;
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(2));
}

}  // namespace
}  // namespace plimsoll

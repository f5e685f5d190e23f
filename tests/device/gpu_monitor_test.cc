#include "device/gpu_monitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "support/fake_nvml.h"

namespace plimsoll {
namespace {

std::unique_ptr<GpuMonitor> open() {
  return GpuMonitor::open(FakeNvml::kBus, FakeNvml::kLibrary);
}

const auto kSelf = static_cast<unsigned int>(::getpid());

TEST(GpuMonitor, SaysWhatThisProcessHoldsWhateverOthersDo) {
  FakeNvml::set(5000, 0);
  FakeNvml::add_process(kSelf + 1, 5000);
  const auto monitor = open();
  ASSERT_NE(monitor, nullptr);
  EXPECT_EQ(monitor->read()->held, 0);
  FakeNvml::set(9000, 97);
  FakeNvml::add_process(kSelf + 1, 6000);
  FakeNvml::add_process(kSelf, 3000);
  const auto reading = monitor->read();
  EXPECT_EQ(reading->held, 3000);
  EXPECT_EQ(reading->used, 9000);
  EXPECT_DOUBLE_EQ(*reading->busy, 0.97);
}

TEST(GpuMonitor, AsksAgainWhereThereAreMoreProcessesThanRoom) {
  FakeNvml::set(0, 0);
  const auto monitor = open();
  FakeNvml::set(9000, 0);
  for (unsigned int other = 1; other <= 200; ++other) FakeNvml::add_process(kSelf + other, 1);
  FakeNvml::add_process(kSelf, 3000);
  EXPECT_EQ(monitor->read()->held, 3000);
}

// In a container the driver uses the process numbers of the machine: under our number it lists another
// process or none.
TEST(GpuMonitor, WhereProcessesAreNotNamedItIsWhatWasTakenSince) {
  FakeNvml::set(5000, 0);
  const auto monitor = open();
  FakeNvml::set(9000, 0);
  EXPECT_EQ(monitor->read()->held, 4000);
  FakeNvml::set(5000, 0);
  FakeNvml::add_process(kSelf, 5000);
  const auto mistaken = open();
  FakeNvml::set(9000, 0);
  FakeNvml::add_process(kSelf, 5000);
  EXPECT_EQ(mistaken->read()->held, 4000);
  FakeNvml::set(5000, 0);
  const auto without_bytes = open();
  FakeNvml::set(9000, 0);
  FakeNvml::add_process(kSelf, std::numeric_limits<unsigned long long>::max());
  EXPECT_EQ(without_bytes->read()->held, 4000);
}

TEST(GpuMonitor, IsNoneWhereThereIsNoNvmlOrItFails) {
  EXPECT_EQ(GpuMonitor::open(FakeNvml::kBus, "libnone-such.so.1"), nullptr);
  FakeNvml::set(0, 0);
  EXPECT_EQ(GpuMonitor::open("", FakeNvml::kLibrary), nullptr);
  const auto monitor = open();
  FakeNvml::set(0, 0, /*fails=*/true);
  EXPECT_FALSE(monitor->read());
  EXPECT_EQ(open(), nullptr);
}

}  // namespace
}  // namespace plimsoll

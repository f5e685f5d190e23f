#include <gmock/gmock.h>

#include <numeric>

#include "device/device_region.h"
#include "device_on.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

class DeviceTest : public EachDevice {};
INSTANTIATE_TEST_SUITE_P(, DeviceTest, testing::Values(DeviceKind::host, DeviceKind::cuda), name_of_device);

TEST_P(DeviceTest, CopiesThroughTwoStreams) {
  constexpr int64_t kBytes = 4096 * sizeof(int32_t);
  std::vector<int32_t> numbers(4096);
  std::iota(numbers.begin(), numbers.end(), -7);
  const auto from = device->pin(kBytes);
  const auto to = device->pin(kBytes);
  DeviceRegion region(*device, kMiB);
  const Stretch piece = region.take(kBytes);
  const auto in = device->make_stream();
  const auto out = device->make_stream();
  const auto event = device->make_event();
  put(*from, numbers);
  in->copy_to_device(piece.data, from->data(), kBytes);
  in->record(*event);
  out->wait_for(*event);
  out->copy_to_host(to->data(), piece.data, kBytes);
  out->wait();
  EXPECT_EQ(numbers_of<int32_t>(*to), numbers);
  region.give(piece);
  EXPECT_EQ(region.in_use(), 0);
}

TEST_P(DeviceTest, FillsAndReusesMemoryInTheOrderOfAStream) {
  DeviceRegion region(*device, kMiB);
  const auto stream = device->make_stream();
  const auto to = device->pin(1024);
  DeviceRange range(region.take(2048), *stream);
  for (int round = 0; round < 50; ++round) {
    const Stretch piece = range.take(1024);
    const Stretch other = range.take(1024);
    EXPECT_THROW((void)range.take(1), DeviceRegionFull);
    stream->fill(piece.data, static_cast<uint8_t>(round), 1024);
    if (round == 49) stream->copy_to_host(to->data(), piece.data, 1024);
    range.give(other);
    range.give(piece);
  }
  stream->wait();
  EXPECT_EQ(numbers_of<uint8_t>(*to), std::vector<uint8_t>(1024, 49));
  EXPECT_EQ(range.high(), 2048);
}

TEST_P(DeviceTest, EventsSayWhenTheyAreReached) {
  const auto event = device->make_event();
  EXPECT_TRUE(event->reached()) << "never recorded";
  const auto stream = device->make_stream();
  stream->record(*event);
  event->wait();
  EXPECT_TRUE(event->reached());
}

TEST_P(DeviceTest, CountsEveryByteAndRefusesBeforeItTakes) {
  const int64_t context = device->ledger().held(DeviceAccount::context);
  EXPECT_EQ(device->ledger().held(), context);
  device->ledger().set_budget(context + kMiB);
  {
    DeviceRegion region(*device, kMiB);
    EXPECT_EQ(device->ledger().held(DeviceAccount::region), kMiB);
    EXPECT_EQ(device->ledger().held(), context + kMiB);
    try {
      device->take_memory(1);
      FAIL() << "above the budget";
    } catch (const DeviceBudgetExceeded& refusal) {
      EXPECT_EQ(refusal.exit_code(), 4);
      EXPECT_THAT(refusal.what(), testing::HasSubstr("requested for 'region', 0 bytes free"));
    }
    EXPECT_EQ(device->ledger().held(), context + kMiB);
  }
  EXPECT_EQ(device->ledger().held(), context);
  EXPECT_EQ(device->ledger().peak(), context + kMiB);
}

TEST_P(DeviceTest, PinnedMemoryStandsInTheLedgerOfTheProcess) {
  const int64_t before = Ledger::process().held(Tag::blocks);
  {
    const auto buffer = device->pin(3000);
    EXPECT_EQ(Ledger::process().held(Tag::blocks), before + 3000);
    EXPECT_EQ(device->ledger().held(DeviceAccount::region), 0);
  }
  EXPECT_EQ(Ledger::process().held(Tag::blocks), before);
}

}  // namespace
}  // namespace plimsoll

// Tests device/cuda_device.cc with a runtime that fails when a test requests it. Tests that run on a GPU are
// in device_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "device/device_region.h"
#include "memory/ledger.h"

// These names differ from those of the build's own device, which is linked as well.
#define find_cuda_devices find_fake_devices
#define open_cuda_device open_fake_device
#define monitor_cuda_device monitor_fake_device
#define cuda_device_bytes fake_device_bytes
#define cuda_device_id fake_device_id
#define cuda_device_name fake_device_name
#ifndef PLIMSOLL_CUDA
#define PLIMSOLL_CUDA
#endif
#include "device/cuda_device.cc"

namespace plimsoll {
namespace {

class FakeCudaTest : public testing::Test {
 protected:
  void SetUp() override { fail_from(std::numeric_limits<int64_t>::max()); }
  static void fail_from(int64_t call) {
    fake_cuda::calls = 0;
    fake_cuda::first_to_fail = call;
  }
};

// Makes all the requests that a run makes to a device, and all objects that exist when a run ends.
void use(Device& device) {
  DeviceRegion region(device, kMiB);
  const auto pinned = device.pin(1024);
  const auto stream = device.make_stream();
  const auto copies = device.make_stream();
  const auto event = device.make_event();
  const Stretch stretch = region.take(4096);
  DeviceRange range(stretch, *stream);
  const Stretch piece = range.take(1024);
  pinned->write()[0] = std::byte{7};
  copies->copy_to_device(piece.data, pinned->data(), 1024);
  copies->record(*event);
  stream->wait_for(*event);
  stream->run("nothing", {}, [](void*) {});
  stream->fill(piece.data + 512, 1, 512);
  stream->copy_to_host(pinned->data(), piece.data, 1024);
  stream->wait();
  EXPECT_TRUE(event->reached());
  event->wait();
  EXPECT_EQ(pinned->read()[0], std::byte{7});
  range.give(piece);
}

TEST_F(FakeCudaTest, IdentifiersAreThoseOfTheDriver) {
  EXPECT_EQ(fake_device_id(0), "000000000000000000000000000000a0");
  EXPECT_EQ(fake_device_id(1), "000000000000000000000000000000a1");
}

TEST_F(FakeCudaTest, WhicheverCallFailsItsErrorIsTold) {
  { use(*open_fake_device(0)); }
  const int64_t all = fake_cuda::calls;
  ASSERT_GT(all, 60);
  const int64_t pinned = Ledger::process().held(Tag::blocks);
  int64_t told = 0;
  for (int64_t call = 1; call <= all; ++call) {
    fail_from(std::numeric_limits<int64_t>::max());
    const auto device = open_fake_device(0);
    const int64_t context = device->ledger().held();
    fail_from(call);
    try {
      use(*device);
    } catch (const Failure& failure) {
      ++told;
      EXPECT_THAT(failure.what(), testing::HasSubstr("an illegal memory access was encountered"));
    }
    EXPECT_EQ(device->ledger().held(), context) << "call " << call;
    EXPECT_EQ(Ledger::process().held(Tag::blocks), pinned) << "call " << call;
  }
  EXPECT_GT(told, 30);
}

// As in the blocks of a run, the destructor of the memory runs after the error and must not replace it.
TEST_F(FakeCudaTest, AnErrorIsStillThereAfterTheMemoryEnded) {
  const auto device = open_fake_device(0);
  try {
    const auto memory = device->take_memory(kMiB);
    const auto stream = device->make_stream();
    fail_from(1);
    stream->wait();
    FAIL() << "the device has failed";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "work on the CUDA device: an illegal memory access was encountered");
  }
}

TEST_F(FakeCudaTest, ADeviceThatFailsAtOnceIsTold) {
  fail_from(1);
  EXPECT_THAT(find_fake_devices().why_none, testing::HasSubstr("an illegal memory access"));
  EXPECT_THROW(open_fake_device(0), Failure);
  EXPECT_THROW(fake_device_bytes(0), Failure);
  EXPECT_EQ(monitor_fake_device(0), nullptr);
}

}  // namespace
}  // namespace plimsoll

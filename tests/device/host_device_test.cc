#include "device/host_device.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/philox.h"
#include "device/device_region.h"
#include "device_on.h"

namespace plimsoll {
namespace {

using Kind = DeviceFault::Kind;

template <typename Call>
std::optional<Kind> fault_of(const Call& call) {
  try {
    call();
  } catch (const DeviceFault& fault) {
    return fault.kind();
  }
  return {};
}

class HostDeviceTest : public testing::Test {
 protected:
  static constexpr int64_t kBytes = 1024;

  std::unique_ptr<Device> device = make_host_device(16 * kMiB);
  DeviceRegion region{*device, kMiB};
  std::unique_ptr<DeviceStream> first = device->make_stream();
  std::unique_ptr<DeviceStream> second = device->make_stream();
  std::unique_ptr<DeviceEvent> event = device->make_event();
  std::unique_ptr<PinnedBuffer> pinned = device->pin(kBytes);
  Stretch piece = region.take(kBytes);
};

TEST_F(HostDeviceTest, FindsAReadThatDoesNotWait) {
  first->fill(piece.data, 1, kBytes);
  first->wait();  // However long ago the copy was, the second stream reads after the host has waited.
  EXPECT_EQ(fault_of([&] { second->run("sum", {reads(piece.data, kBytes)}, [](void*) {}); }), std::nullopt);
  second->wait();
  first->fill(piece.data, 2, kBytes);
  EXPECT_EQ(fault_of([&] { second->run("sum", {reads(piece.data + 512, 4)}, [](void*) {}); }),
            Kind::missing_wait);
  first->record(*event);
  second->wait_for(*event);
  EXPECT_EQ(fault_of([&] { second->run("sum", {reads(piece.data, kBytes)}, [](void*) {}); }), std::nullopt);
}

TEST_F(HostDeviceTest, FindsAWriteOverWhatAnotherStreamStillReads) {
  first->fill(piece.data, 1, kBytes);
  first->record(*event);
  second->wait_for(*event);
  second->run("sum", {reads(piece.data, kBytes)}, [](void*) {});
  EXPECT_EQ(fault_of([&] { first->fill(piece.data, 2, kBytes); }), Kind::missing_wait);
  second->record(*event);
  first->wait_for(*event);
  EXPECT_EQ(fault_of([&] { first->fill(piece.data, 2, kBytes); }), std::nullopt);
}

TEST_F(HostDeviceTest, AnEventOrdersOnlyWhatCameBeforeIt) {
  first->record(*event);
  first->fill(piece.data, 1, kBytes);
  second->wait_for(*event);
  EXPECT_EQ(fault_of([&] { second->run("sum", {reads(piece.data, kBytes)}, [](void*) {}); }),
            Kind::missing_wait);
}

TEST_F(HostDeviceTest, OrdersPassThroughThirdStreams) {
  const auto third = device->make_stream();
  first->fill(piece.data, 1, kBytes);
  first->record(*event);
  third->wait_for(*event);
  third->record(*event);
  second->wait_for(*event);
  EXPECT_EQ(fault_of([&] { second->fill(piece.data, 2, kBytes); }), std::nullopt);
}

TEST_F(HostDeviceTest, FindsAHostThatDoesNotWaitForACopy) {
  pinned->write()[0] = std::byte{7};
  first->copy_to_device(piece.data, pinned->data(), kBytes);
  EXPECT_EQ(fault_of([&] { (void)pinned->read(); }), std::nullopt) << "both read";
  EXPECT_EQ(fault_of([&] { (void)pinned->write(); }), Kind::missing_wait);
  first->copy_to_host(pinned->data(), piece.data, kBytes);
  EXPECT_EQ(fault_of([&] { (void)pinned->read(); }), Kind::missing_wait);
  first->wait();
  EXPECT_EQ(fault_of([&] { (void)pinned->read(); }), std::nullopt);
  EXPECT_EQ(pinned->read()[0], std::byte{7});
}

TEST_F(HostDeviceTest, FindsMemoryThatWasGivenBack) {
  const Stretch other = region.take(kBytes);
  first->fill(other.data, 1, kBytes);
  region.give(other);
  EXPECT_EQ(fault_of([&] { first->wait(); }), Kind::missing_wait) << "the host had not waited";
  EXPECT_EQ(fault_of([&] { first->wait(); }), std::nullopt) << "it is told once";
  first->fill(piece.data, 1, kBytes);
  first->wait();
  region.give(piece);
  EXPECT_EQ(fault_of([&] { first->run("sum", {reads(piece.data, 8)}, [](void*) {}); }), Kind::ended);
  EXPECT_EQ(fault_of([&] { first->fill(piece.data, 1, 8); }), Kind::ended);
}

TEST_F(HostDeviceTest, FindsAPieceOfARangeThatEndedOrBelongsToAnotherStream) {
  DeviceRange range(region.take(4 * kBytes), *first);
  const Stretch a = range.take(kBytes);
  first->fill(a.data, 1, kBytes);
  EXPECT_EQ(fault_of([&] { second->fill(a.data, 1, kBytes); }), Kind::missing_wait);
  range.give(a);
  EXPECT_EQ(fault_of([&] { first->run("sum", {reads(a.data, 8)}, [](void*) {}); }), Kind::ended);
  const Stretch b = range.take(kBytes);
  EXPECT_EQ(b.data, a.data);
  EXPECT_EQ(fault_of([&] { first->run("sum", {reads(b.data, 8)}, [](void*) {}); }), Kind::unwritten);
}

TEST_F(HostDeviceTest, FindsReadsOfWhatNobodyWrote) {
  first->fill(piece.data, 1, 512);
  EXPECT_EQ(fault_of([&] { first->run("sum", {reads(piece.data, 512)}, [](void*) {}); }), std::nullopt);
  EXPECT_EQ(fault_of([&] { first->run("sum", {reads(piece.data, 513)}, [](void*) {}); }), Kind::unwritten);
  EXPECT_EQ(fault_of([&] { first->copy_to_device(piece.data, pinned->data(), 8); }), Kind::unwritten);
}

TEST_F(HostDeviceTest, FindsTheWrongSide) {
  std::array<std::byte, 8> elsewhere{};
  first->fill(piece.data, 1, kBytes);
  EXPECT_EQ(fault_of([&] { first->fill(elsewhere.data(), 1, 8); }), Kind::wrong_side);
  EXPECT_EQ(fault_of([&] { first->fill(pinned->data(), 1, 8); }), Kind::wrong_side);
  EXPECT_EQ(fault_of([&] { first->copy_to_device(piece.data, elsewhere.data(), 8); }), Kind::wrong_side);
  EXPECT_EQ(fault_of([&] { first->copy_to_host(elsewhere.data(), piece.data, 8); }), Kind::wrong_side);
  EXPECT_EQ(fault_of([&] { first->copy_to_device(piece.data, piece.data, 8); }), Kind::wrong_side);
  EXPECT_EQ(fault_of([&] { first->run("sum", {reads(piece.data, kMiB + 1)}, [](void*) {}); }),
            Kind::wrong_side);
  // Kernels read pinned memory if they declare it.
  const auto sum = [&](const Access& access) {
    return fault_of([&] { first->run("sum", {access}, [](void*) {}); });
  };
  pinned->write();
  EXPECT_EQ(sum(reads_pinned(pinned->data(), 8)), std::nullopt);
  EXPECT_EQ(sum(reads(pinned->data(), 8)), Kind::wrong_side);
  EXPECT_EQ(sum(reads_pinned(piece.data, 8)), Kind::wrong_side);
}

TEST_F(HostDeviceTest, FaultsThatFollowFromAnErrorDoNotReplaceIt) {
  const Stretch stretch = region.take(4 * kBytes);
  try {
    DeviceRange range(stretch, *first);
    const Stretch a = range.take(kBytes);
    first->fill(a.data, 1, kBytes);
    first->record(*event);
    second->wait_for(*event);
    second->run("sum", {reads(a.data, kBytes)}, [](void*) {});
    throw std::runtime_error("the first error");  // The range ends, and nothing waits for the second stream.
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "the first error");
  }
  EXPECT_EQ(fault_of([&] { first->fill(stretch.data, 1, kBytes); }), Kind::missing_wait) << "still found";
  second->wait();
}

TEST_F(HostDeviceTest, AFailedDeviceFailsForEverAndEndsInOrder) {
  std::atomic<int> asked = 0;
  const auto failing = make_host_device({.bytes = 16 * kMiB, .fails = [&] { return ++asked == 3; }});
  try {
    DeviceRegion failing_region(*failing, kMiB);
    const auto stream = failing->make_stream();
    DeviceRange range(failing_region.take(4 * kBytes), *stream);
    const Stretch a = range.take(kBytes);
    stream->fill(a.data, 1, kBytes);
    stream->wait();
    range.give(a);
    stream->wait();
    FAIL() << "the third piece of work fails";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), testing::HasSubstr("failed, as requested"));
  }
  const auto later = failing->make_stream();
  later->run("later", {}, [](void*) { FAIL() << "the device has failed"; });
  EXPECT_THROW(later->wait(), Failure);
  EXPECT_EQ(failing->ledger().held(), 0);
}

using HostDeviceDeathTest = HostDeviceTest;

TEST_F(HostDeviceDeathTest, AFaultThatNoCallCanThrowIsNotLost) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const auto other = make_host_device(16 * kMiB);
        DeviceRegion other_region(*other, kMiB);
        const auto stream = other->make_stream();
        const Stretch a = other_region.take(kBytes);
        stream->fill(a.data, 1, kBytes);
        other_region.give(a);
      },
      "missing wait");
}

TEST_F(HostDeviceDeathTest, TheHostCannotReadTheDevice) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  first->fill(piece.data, 1, kBytes);
  first->wait();
  EXPECT_DEATH(
      {
        // A stream closes the memory a moment after its last piece of work.
        first.reset();
        *const_cast<volatile std::byte*>(piece.data);
        std::exit(0);  // Not reached: the access above must kill the process.
      },
      "");
}

TEST_F(HostDeviceTest, UndeclaredReadsOfEndedMemoryAreNaN) {
  first->fill(piece.data, 0, kBytes);
  first->wait();
  region.give(piece);
  auto* const number = reinterpret_cast<float*>(piece.data);
  std::atomic<bool> nan = false;
  first->run("undeclared", {}, [&](void*) { nan = std::isnan(*number); });
  first->wait();
  EXPECT_TRUE(nan);
}

TEST_F(HostDeviceTest, WorkThatThrowsIsReportedAndEndsItsStream) {
  first->run("throws", {}, [](void*) { throw std::runtime_error("the first"); });
  std::atomic<bool> ran = false;
  first->run("after", {}, [&](void*) { ran = true; });
  first->record(*event);
  second->wait_for(*event);  // Does not hang.
  second->wait();
  EXPECT_THROW(first->wait(), std::runtime_error);
  EXPECT_THROW(event->wait(), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST_F(HostDeviceTest, MemoryOfTheDeviceEnds) {
  EXPECT_THROW((void)device->take_memory(device->free_bytes() + 1), Failure);
  EXPECT_EQ(device->ledger().held(DeviceAccount::region), kMiB);
}

constexpr int kStressBlocks = 40;
constexpr int64_t kStressNumbers = 256;
constexpr int64_t kStressBytes = kStressNumbers * static_cast<int64_t>(sizeof(uint32_t));

// The streams and buffers of one host thread.
struct Worker {
  std::unique_ptr<DeviceStream> stream, copies;
  std::array<std::unique_ptr<PinnedBuffer>, 2> staging;
  std::array<std::unique_ptr<DeviceEvent>, 2> copied, used;
  std::array<Stretch, 2> graphs;
  std::unique_ptr<PinnedBuffer> result;
  Stretch range;
};

Worker make_worker(Device& device, DeviceRegion& region) {
  Worker worker;
  worker.stream = device.make_stream();
  worker.copies = device.make_stream();
  for (size_t half = 0; half < 2; ++half) {
    worker.staging[half] = device.pin(kStressBytes);
    worker.copied[half] = device.make_event();
    worker.used[half] = device.make_event();
    worker.graphs[half] = region.take(kStressBytes);
  }
  worker.result = device.pin(sizeof(uint32_t));
  worker.range = region.take(4 * DeviceRegion::round_up(kStressBytes));
  return worker;
}

// Sums the squares of the numbers of all blocks on the worker's streams.
uint32_t sum_squares(Worker& worker, uint64_t seed) {
  const Philox philox(seed);
  DeviceRange range(worker.range, *worker.stream);
  const Stretch sum = range.take(sizeof(uint32_t));
  worker.stream->fill(sum.data, 0, sum.bytes);
  for (uint32_t block = 0; block < kStressBlocks; ++block) {
    const size_t half = block % 2;
    worker.copied[half]->wait();  // The copy of two blocks ago has left the buffer.
    std::vector<uint32_t> numbers;
    for (uint32_t n = 0; n < kStressNumbers; ++n)
      numbers.push_back(philox(philox_counter(Purpose::dropout, 0, 0, block, n))[0]);
    put(*worker.staging[half], numbers);
    worker.copies->wait_for(*worker.used[half]);
    worker.copies->copy_to_device(worker.graphs[half].data, worker.staging[half]->data(), kStressBytes);
    worker.copies->record(*worker.copied[half]);
    worker.stream->wait_for(*worker.copied[half]);
    const Stretch squares = range.take(kStressBytes);
    const auto* const from = reinterpret_cast<const uint32_t*>(worker.graphs[half].data);
    auto* const to = reinterpret_cast<uint32_t*>(squares.data);
    worker.stream->run("square", {reads(from, kStressBytes), writes(to, kStressBytes)}, [=](void*) {
      for (int64_t n = 0; n < kStressNumbers; ++n) to[n] = from[n] * from[n];
    });
    worker.stream->record(*worker.used[half]);
    auto* const total = reinterpret_cast<uint32_t*>(sum.data);
    worker.stream->run("sum", {reads(to, kStressBytes), reads(total, sum.bytes), writes(total, sum.bytes)},
                       [=](void*) {
                         for (int64_t n = 0; n < kStressNumbers; ++n) *total += to[n];
                       });
    range.give(squares);
  }
  worker.stream->copy_to_host(worker.result->data(), sum.data, sum.bytes);
  range.give(sum);
  worker.stream->wait();
  return numbers_of<uint32_t>(*worker.result).front();
}

uint32_t expected_sum_of_squares(uint64_t seed) {
  uint32_t expected = 0;
  const Philox philox(seed);
  for (uint32_t block = 0; block < kStressBlocks; ++block)
    for (uint32_t n = 0; n < kStressNumbers; ++n) {
      const uint32_t number = philox(philox_counter(Purpose::dropout, 0, 0, block, n))[0];
      expected += number * number;
    }
  return expected;
}

// Blocks of several host threads, each on its own stream, with the next block's numbers copied at the same
// time, as the engine does. The thread sanitizer runs it; a missing wait anywhere would be a fault.
TEST(HostDeviceStress, ManyStreamsGiveTheSameSums) {
  constexpr int kThreads = 4;
  const auto device = make_host_device(4 * kMiB);
  DeviceRegion region(*device, kMiB);
  std::vector<Worker> workers;
  for (int t = 0; t < kThreads; ++t) workers.push_back(make_worker(*device, region));
  std::vector<uint32_t> sums(kThreads);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { sums[t] = sum_squares(workers[t], 11); });
  }
  EXPECT_EQ(sums, std::vector<uint32_t>(kThreads, expected_sum_of_squares(11)));
}

}  // namespace
}  // namespace plimsoll

#include "can/simulate/bus_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/made_frames.h"

namespace plimsoll {
namespace {

constexpr int64_t kStart = 1'600'000'000'000'000'000;

std::vector<CanFrame> due_frames(const Vehicle& vehicle, uint64_t seed, uint32_t recording, size_t count) {
  VehicleFrames due(vehicle, seed, recording, kStart);
  return take(due, count);
}

std::vector<CanFrame> bus_frames(const Vehicle& vehicle, uint64_t seed, uint32_t recording, size_t count) {
  VehicleFrames due(vehicle, seed, recording, kStart);
  Bus bus(due);
  return take(bus, count);
}

// The load of the bus in millionths.
int64_t load_ppm(const Vehicle& vehicle) {
  int64_t load = 0;
  for (const Message& message : vehicle.messages)
    load += frame_time_us(message.length) * 1'000'000 / message.period_us;
  return load;
}

// Computes the checksum byte by byte.
uint8_t slow_checksum(const Message& message, uint64_t data) {
  uint32_t sum = message.can_id & 0xFF;
  for (int i = 0; i < message.length; ++i) {
    if (i == message.checksum_byte) continue;
    const auto byte = static_cast<uint32_t>(data >> (8 * i) & 0xFF);
    sum = message.checksum == Checksum::sum ? sum + byte : sum ^ byte;
  }
  return static_cast<uint8_t>(sum);
}

uint8_t byte_of(const CanFrame& frame, int byte) {
  return static_cast<uint8_t>(frame.data >> (8 * byte));
}

TEST(BusSimulator, TheSameSeedGivesTheSameFramesAndAnotherSeedOthers) {
  const auto frames = bus_frames(make_vehicle(1, 0), 1, 0, 20'000);
  EXPECT_EQ(frames, bus_frames(make_vehicle(1, 0), 1, 0, 20'000));
  EXPECT_NE(frames, bus_frames(make_vehicle(1, 0), 1, 1, 20'000)) << "another recording";
  EXPECT_NE(frames, bus_frames(make_vehicle(1, 1), 1, 0, 20'000)) << "another vehicle";
  EXPECT_NE(frames, bus_frames(make_vehicle(2, 0), 2, 0, 20'000)) << "another seed";
}

TEST(BusSimulator, TheBytesAreThoseOfEveryMachine) {
  // The simulator uses only integers and Philox: this hash may change with the simulator, but not with the
  // machine or the compiler.
  const auto frames = bus_frames(make_vehicle(7, 2), 7, 3, 100'000);
  EXPECT_EQ(hash_of(frames), "59ecb65983ecbb48");
}

TEST(BusSimulator, VehiclesAreAsPromised) {
  std::set<std::vector<uint32_t>> sets;
  for (uint32_t number = 0; number < 200; ++number) {
    const Vehicle vehicle = make_vehicle(5, number);
    EXPECT_GE(vehicle.messages.size(), 30U);
    EXPECT_LE(vehicle.messages.size(), 60U);
    EXPECT_LE(load_ppm(vehicle), 650'000);
    EXPECT_GE(load_ppm(vehicle), 150'000);
    std::vector<uint32_t> ids;
    int64_t full = 0;
    for (const Message& message : vehicle.messages) {
      ids.push_back(message.can_id);
      full += message.length == 8;
      EXPECT_TRUE(message.length >= 1 && message.length <= 8);
      EXPECT_LT(message.can_id, 0x7F0U);
      EXPECT_GT(message.can_id, 0U);
      EXPECT_EQ(message.constant & ~payload_mask(message.length), 0U);
    }
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
    EXPECT_GT(2 * full, static_cast<int64_t>(ids.size()));
    sets.insert(ids);
  }
  EXPECT_EQ(sets.size(), 200U);
}

TEST(BusSimulator, FramesAreDueAtTheirPeriodsWithinTheJitter) {
  const Vehicle vehicle = make_vehicle(3, 0);
  std::map<uint32_t, std::vector<int64_t>> times;
  for (const CanFrame& frame : due_frames(vehicle, 3, 0, 60'000))
    times[frame.can_id].push_back((frame.time_ns - kStart) / 1000);
  ASSERT_EQ(times.size(), vehicle.messages.size());
  for (const Message& message : vehicle.messages) {
    const std::vector<int64_t>& due = times[message.can_id];
    int64_t min = due[0];
    int64_t max = due[0];
    for (size_t n = 0; n < due.size(); ++n) {
      const int64_t phase = due[n] - static_cast<int64_t>(n) * message.period_us;
      min = std::min(min, phase);
      max = std::max(max, phase);
    }
    EXPECT_LE(max - min, 2 * message.jitter_us);
    if (due.size() > 1000) {
      EXPECT_GT(max - min, message.jitter_us) << "there is jitter";
    }
    EXPECT_GE(min, 0);
    EXPECT_LT(min, message.period_us + 2 * message.jitter_us);
  }
}

TEST(BusSimulator, CountersChecksumsConstantsAndSignalsAreAsSpecified) {
  int64_t counters = 0;
  int64_t checksums = 0;
  for (uint32_t number = 0; number < 8; ++number) {
    const Vehicle vehicle = make_vehicle(4, number);
    std::map<uint32_t, Message> messages;
    for (const Message& message : vehicle.messages) messages[message.can_id] = message;
    std::map<uint32_t, CanFrame> previous;
    for (const CanFrame& frame : bus_frames(vehicle, 4, number, 20'000)) {
      const Message& message = messages.at(frame.can_id);
      ASSERT_EQ(frame.length, message.length);
      ASSERT_EQ(frame.label, 0);
      ASSERT_EQ(frame.data & ~payload_mask(frame.length), 0U);
      ASSERT_EQ(frame.data & message.constant, message.constant);
      if (message.checksum != Checksum::none) {
        ASSERT_EQ(byte_of(frame, message.checksum_byte), slow_checksum(message, frame.data));
        ++checksums;
      }
      if (message.counter_byte >= 0 && previous.count(frame.can_id) != 0) {
        const uint32_t before = byte_of(previous[frame.can_id], message.counter_byte);
        ASSERT_EQ(byte_of(frame, message.counter_byte) & message.counter_mask,
                  (before + 1) & message.counter_mask);
        ++counters;
      }
      previous[frame.can_id] = frame;
    }
  }
  EXPECT_GT(counters, 10'000);
  EXPECT_GT(checksums, 10'000);
}

TEST(BusSimulator, SignalsAreSlowAndSharedByMessages) {
  const Vehicle vehicle = make_vehicle(6, 1);
  // The value of each signal in undivided units, from the message that carries it.
  struct Seen {
    int64_t time_ns;
    uint32_t can_id;
    int32_t value;
  };
  std::map<SimulatedSignal, Seen> last;
  int64_t shared = 0;
  std::map<SimulatedSignal, std::pair<int32_t, int32_t>> ranges;
  std::map<uint32_t, Message> messages;
  for (const Message& message : vehicle.messages) messages[message.can_id] = message;
  for (const CanFrame& frame : due_frames(vehicle, 6, 0, 100'000)) {
    for (const Message::Field& field : messages.at(frame.can_id).fields) {
      if (field.byte < 0) continue;
      const int32_t value = (byte_of(frame, field.byte) << 8 | byte_of(frame, field.byte + 1)) << field.shift;
      const auto found = last.find(field.signal);
      if (found != last.end() && frame.time_ns - found->second.time_ns < 10'000'000) {
        ASSERT_LE(std::abs(value - found->second.value), 4'500) << static_cast<int>(field.signal);
        shared += found->second.can_id != frame.can_id;
      }
      last[field.signal] = {frame.time_ns, frame.can_id, value};
      auto& range = ranges.try_emplace(field.signal, value, value).first->second;
      range = {std::min(range.first, value), std::max(range.second, value)};
    }
  }
  EXPECT_GT(shared, 1'000);
  EXPECT_GT(ranges[SimulatedSignal::speed].second - ranges[SimulatedSignal::speed].first, 5'000);
}

TEST(Bus, SendsOneFrameAtATimeAndTimeNeverRunsBack) {
  const auto frames = bus_frames(make_vehicle(8, 0), 8, 0, 50'000);
  EXPECT_GE(frames[0].time_ns, kStart);
  for (size_t i = 1; i < frames.size(); ++i)
    ASSERT_GE(frames[i].time_ns - frames[i - 1].time_ns, frame_time_us(frames[i - 1].length) * 1000);
}

TEST(Bus, SendsEveryFrameNotBeforeItIsDueAndSoonAfter) {
  const Vehicle vehicle = make_vehicle(8, 0);
  const auto due = due_frames(vehicle, 8, 0, 50'000);
  auto sent = bus_frames(vehicle, 8, 0, 49'000);
  std::map<uint32_t, std::vector<CanFrame>> by_id;
  for (const CanFrame& frame : due) by_id[frame.can_id].push_back(frame);
  std::map<uint32_t, size_t> count;
  for (const CanFrame& frame : sent) {
    const CanFrame& expected = by_id[frame.can_id].at(count[frame.can_id]++);
    ASSERT_EQ(frame.data, expected.data) << "none is lost, none overtakes its own ID";
    ASSERT_GE(frame.time_ns, expected.time_ns);
    ASSERT_LT(frame.time_ns - expected.time_ns, 20'000'000);
  }
}

TEST(Bus, OfWaitingFramesTheLowestIdGoesFirstAndOfOneIdTheEarliest) {
  const auto frame = [](int64_t us, uint32_t id, uint64_t data, uint8_t label) {
    return CanFrame{.time_ns = us * 1000, .data = data, .can_id = id, .length = 8, .label = label};
  };
  MadeFrames due({frame(10, 0x300, 1, 0), frame(20, 0x200, 2, 0), frame(30, 0x100, 3, 0),
                  frame(40, 0x100, 4, 1), frame(50, 0x200, 5, 0), frame(1000, 0x200, 6, 0)});
  Bus bus(due);
  std::vector<uint64_t> order;
  std::vector<int64_t> times;
  for (const CanFrame& sent : take(bus, 10)) {
    order.push_back(sent.data);
    times.push_back(sent.time_ns / 1000);
  }
  // 0x300 was the only waiting frame when it was sent. The second 0x200 replaced the first, which was still
  // waiting. The attacker's 0x100 has its own place.
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 3, 4, 5, 6}));
  EXPECT_EQ(times, (std::vector<int64_t>{10, 254, 498, 742, 1000}));
}

}  // namespace
}  // namespace plimsoll

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "can/simulate/frame_source.h"

namespace plimsoll {

/// What the vehicle does: slow signals, 0 .. 65535 each, that many messages carry at once.
enum class SimulatedSignal : uint8_t { pedal, speed, rpm, brake, steering, yaw, coolant, fuel };
inline constexpr int kSignals = 8;

/// How the last byte of a message guards the others.
enum class Checksum : uint8_t { none, exclusive_or, sum };

/// One message of a vehicle: when it is sent and what stands in it. A byte of -1 says that there is none.
struct Message {
  struct Field {
    int8_t byte = -1;  ///< of the higher half; the lower half follows
    SimulatedSignal signal = SimulatedSignal::pedal;
    uint8_t shift = 0;  ///< the signal is divided by 2 to this
  };

  uint32_t can_id = 0;
  int32_t period_us = 0;
  int32_t jitter_us = 0;  ///< a frame is due up to so much before or after its time
  uint8_t length = 8;
  uint64_t constant = 0;  ///< the bytes that never change, zeros in the others
  std::array<Field, 2> fields;
  int8_t flag_byte = -1;  ///< each bit a switch that turns now and then
  int8_t counter_byte = -1;
  uint8_t counter_mask = 0;  ///< 0x0F: the lower half of the byte counts; 0xFF: all of it
  int8_t checksum_byte = -1;
  Checksum checksum = Checksum::none;
};

/// Of the payload without its checksum byte (zero there): all bytes and the low byte of the ID, added modulo
/// 256 or by exclusive or.
uint8_t checksum_of(Checksum kind, uint32_t can_id, uint64_t data);

/// How long a frame of `length` bytes occupies a bus of 500 kbit/s: 47 bits and 8 a byte, a tenth more for
/// stuff bits, 2 us each; 244 us for 8 bytes.
constexpr int64_t frame_time_us(uint8_t length) {
  return (47 + 8 * int64_t{length}) * 22 / 10;
}

/// 30 to 60 messages by ascending ID, 11 bits each. Lower IDs are sent more often; together they load the bus
/// to 65 % at most.
struct Vehicle {
  static constexpr size_t kMaxMessages = 64;
  std::vector<Message> messages;

  int64_t frames_per_1000_s() const;  ///< without attacks
};

/// The vehicle with this number; the same for the same seed.
Vehicle make_vehicle(uint64_t seed, uint32_t number);

/// The signals of one drive, step by step of 10 ms; integers throughout.
class Drive {
 public:
  Drive(uint64_t seed, uint32_t recording);

  void advance_to(int64_t time_us) {
    while (time_us >= next_step_us_) step();
  }
  uint16_t operator[](SimulatedSignal signal) const { return values_[static_cast<size_t>(signal)]; }

 private:
  static constexpr int64_t kStepUs = 10'000;
  void step();

  Philox philox_;
  uint32_t recording_;
  uint32_t steps_ = 0;
  int64_t next_step_us_ = kStepUs;
  int32_t goal_ = 20'000;                // where the driver's foot is going
  int32_t steering_ = 0;                 // from the middle
  std::array<int32_t, kSignals> state_;  // coolant and fuel with 12 bits after the point
  std::array<uint16_t, kSignals> values_{};
};

/// What a vehicle's controllers want to send, in the order of the times that it is due: without end. Frame n
/// of a message is due at phase + n * period, up to the jitter before or after. The same for the same seed
/// and number of the recording.
class VehicleFrames : public FrameSource {
 public:
  /// `vehicle` must outlive it. `start_ns`: the time that the recording begins, a whole number of us.
  VehicleFrames(const Vehicle& vehicle, uint64_t seed, uint32_t recording, int64_t start_ns);

  bool next(CanFrame& frame) override;

 private:
  struct State {
    int64_t due_us = 0;    // without jitter
    uint32_t sent = 0;     // frames so far: the next one's number
    uint32_t counter = 0;  // what the first frame counted
    uint8_t flags = 0;
    uint32_t noise = 0;  // drawn for the next frame
  };
  static constexpr int kIndexBits = 6;
  static constexpr size_t kLeaves = Vehicle::kMaxMessages;

  void schedule(size_t message);
  uint64_t payload(const Message& message, const State& state) const;

  const Vehicle& vehicle_;
  Philox philox_;
  uint32_t recording_;
  int64_t start_ns_;
  Drive drive_;
  std::vector<State> states_;
  // A tournament of the messages: a leaf is (time due, index), each node above the lesser of two, 1 the
  // least.
  std::array<uint64_t, 2 * kLeaves> tree_;
};

/// The bus: one frame at a time. Of the frames that wait when it falls free the lowest ID goes first, and of
/// one ID the earliest. Times become those at which frames begin. A controller keeps one frame an ID waiting:
/// a newer one replaces it (frames with label 1 come from a controller of their own).
class Bus : public FrameSource {
 public:
  /// `due`: frames in the order of their times; must outlive the bus.
  explicit Bus(FrameSource& due);

  bool next(CanFrame& frame) override;

 private:
  void wait(const CanFrame& frame);

  FrameSource& due_;
  CanFrame ahead_;  // the next frame of due_
  bool more_;
  int64_t free_ns_ = 0;
  Vector<CanFrame, Tag::ingest> waiting_;  // the last goes first
};

}  // namespace plimsoll

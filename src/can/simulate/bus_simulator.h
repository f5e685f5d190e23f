#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "can/simulate/frame_source.h"

namespace plimsoll {

/// The state of the vehicle: slow signals, 0 to 65535 each, that many messages carry at once.
enum class SimulatedSignal : uint8_t { pedal, speed, rpm, brake, steering, yaw, coolant, fuel };
inline constexpr int kSignals = 8;

/// The function by which a message's checksum byte protects the other bytes.
enum class Checksum : uint8_t { none, exclusive_or, sum };

/// One message of a vehicle: its timing and its payload. A byte of -1 means that the field is absent.
struct Message {
  struct Field {
    int8_t byte = -1;  ///< Byte of the higher half. The lower half follows.
    SimulatedSignal signal = SimulatedSignal::pedal;
    uint8_t shift = 0;  ///< The signal is divided by 2^shift.
  };

  uint32_t can_id = 0;
  int32_t period_us = 0;
  int32_t jitter_us = 0;  ///< Maximum time by which a frame is due before or after its regular time.
  uint8_t length = 8;
  uint64_t constant = 0;  ///< Bytes that never change. All other bytes are zero.
  std::array<Field, 2> fields;
  int8_t flag_byte = -1;  ///< Each bit of this byte is a switch that changes from time to time.
  int8_t counter_byte = -1;
  uint8_t counter_mask = 0;  ///< 0x0F: the lower half of the byte counts. 0xFF: the whole byte counts.
  int8_t checksum_byte = -1;
  Checksum checksum = Checksum::none;
};

/// The checksum of a payload whose checksum byte is zero: all bytes and the low byte of the ID, combined by
/// addition modulo 256 or by exclusive or. `kind` must not be `none`.
uint8_t checksum_of(Checksum kind, uint32_t can_id, uint64_t data);

/// The time for which a frame of `length` bytes occupies a bus of 500 kbit/s: 47 bits and 8 per byte, plus a
/// tenth for stuff bits, at 2 us each. It is 244 us for 8 bytes.
constexpr int64_t frame_time_us(uint8_t length) {
  return (47 + 8 * int64_t{length}) * 22 / 10;
}

/// A vehicle with 30 to 60 messages in ascending order of their 11-bit IDs. Lower IDs are sent more often.
/// All messages together load the bus to at most 65 %.
struct Vehicle {
  static constexpr size_t kMaxMessages = 64;
  std::vector<Message> messages;

  int64_t frames_per_1000_s() const;  ///< Frames in 1,000 s without attacks.
};

/// Makes the vehicle with this number. The result is the same for the same seed.
Vehicle make_vehicle(uint64_t seed, uint32_t number);

/// The signals of one drive in steps of 10 ms. Uses integers only. Not thread-safe.
class Drive {
 public:
  Drive(uint64_t seed, uint32_t recording);

  /// Computes the signals at this time since the start of the drive. An earlier time changes nothing.
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
  int32_t goal_ = 20'000;                // Position that the pedal moves to.
  int32_t steering_ = 0;                 // Steering angle from the middle.
  std::array<int32_t, kSignals> state_;  // Coolant and fuel have 12 fractional bits.
  std::array<uint16_t, kSignals> values_{};
};

/// The endless sequence of frames that a vehicle's controllers want to send, in the order of their due times.
/// Frame n of a message is due at phase + n * period, plus or minus the jitter. The frames are equal for
/// equal seeds and recording numbers. Not thread-safe.
class VehicleFrames : public FrameSource {
 public:
  /// `vehicle` must outlive it. `start_ns` is the start of the recording, a whole number of microseconds.
  VehicleFrames(const Vehicle& vehicle, uint64_t seed, uint32_t recording, int64_t start_ns);

  bool next(CanFrame& frame) override;

 private:
  struct State {
    int64_t due_us = 0;    // Due time without jitter.
    uint32_t sent = 0;     // Number of frames sent, which is the number of the next one.
    uint32_t counter = 0;  // Counter of the first frame.
    uint8_t flags = 0;
    uint32_t noise = 0;  // Noise drawn for the next frame.
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
  // A tournament tree of the messages: a leaf is (due time, index) and each node is the smaller of its two
  // children, so node 1 is the minimum.
  std::array<uint64_t, 2 * kLeaves> tree_;
};

/// The bus, which carries one frame at a time. When it becomes free, the waiting frame with the lowest ID is
/// sent, or the earliest of several with this ID. Times become the start times of frames. A controller keeps
/// one waiting frame per ID, which a newer one replaces; frames with label 1 come from a separate controller.
/// Not thread-safe.
class Bus : public FrameSource {
 public:
  /// `due` gives frames in the order of their times and must outlive the bus.
  explicit Bus(FrameSource& due);

  bool next(CanFrame& frame) override;

 private:
  void wait(const CanFrame& frame);

  FrameSource& due_;
  CanFrame ahead_;  // The next frame of due_.
  bool more_;
  int64_t free_ns_ = 0;
  Vector<CanFrame, Tag::ingest> waiting_;  // The last one is sent first.
};

}  // namespace plimsoll

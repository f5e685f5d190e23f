#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/philox.h"
#include "can/frames/frame_batch.h"

namespace plimsoll {

/// One frame of a simulation.
struct CanFrame {
  int64_t time_ns = 0;
  uint64_t data = 0;  ///< Byte i of the payload is in bits 8i to 8i+7. Zero after the length.
  uint32_t can_id = 0;
  uint8_t length = 0;
  uint8_t label = 0;
  uint8_t channel = 0;  ///< Channel of the recording, if channels are merged.
  /// Row in the recording of the original frame, even if the frame was changed; -1 if the frame was added.
  int64_t row = -1;

  /// Ignores the row.
  bool operator==(const CanFrame& other) const {
    return time_ns == other.time_ns && data == other.data && can_id == other.can_id &&
           length == other.length && label == other.label && channel == other.channel;
  }
};

inline constexpr int64_t kMicrosecond = 1000;  ///< Nanoseconds; the resolution of simulated times.

/// The bits of a payload that a frame of this length uses.
constexpr uint64_t payload_mask(uint8_t length) {
  return length >= kPayloadBytes ? ~uint64_t{0} : (uint64_t{1} << (8 * length)) - 1;
}

/// A sequence of frames. Not thread-safe.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// Stores the next frame in `frame`. Returns false at the end; `frame` then has no meaning.
  virtual bool next(CanFrame& frame) = 0;
};

/// Replaces the contents of `batch`, which must have 8 bytes per frame and no flags, with the next frames of
/// a source, at most `max`. The result is shorter than `max` only at the end of the source.
inline void read_frames(FrameSource& source, int64_t max, FrameBatch& batch) {
  static_assert(std::endian::native == std::endian::little, "payloads are copied byte by byte");
  const auto limit = static_cast<size_t>(max);
  batch.time_ns.resize(limit);
  batch.can_id.resize(limit);
  batch.length.resize(limit);
  batch.data.resize(limit * kPayloadBytes);
  batch.label.resize(limit);
  batch.channel.resize(limit);
  size_t count = 0;
  for (CanFrame frame; count < limit && source.next(frame); ++count) {
    batch.time_ns[count] = frame.time_ns;
    batch.can_id[count] = frame.can_id;
    batch.length[count] = frame.length;
    std::memcpy(&batch.data[count * kPayloadBytes], &frame.data, kPayloadBytes);
    batch.label[count] = frame.label;
    batch.channel[count] = frame.channel;
  }
  batch.time_ns.resize(count);
  batch.can_id.resize(count);
  batch.length.resize(count);
  batch.data.resize(count * kPayloadBytes);
  batch.label.resize(count);
  batch.channel.resize(count);
}

/// The frames of a recording as a source: all frames, those of one channel, or those of all other channels.
/// The last two need merged channels. Frames must have 8 bytes; their flags are dropped. The columns must
/// outlive it.
class RecordedFrames : public FrameSource {
 public:
  enum class Take : uint8_t { all, channel, others };

  explicit RecordedFrames(const FrameSpans& frames, Take take = Take::all, uint8_t channel = 0)
      : frames_(frames), take_(take), channel_(channel) {}

  bool next(CanFrame& frame) override {
    const auto passes = [&] { return (frames_.channel[at_] == channel_) == (take_ == Take::channel); };
    while (take_ != Take::all && at_ < frames_.time_ns.size() && !passes()) ++at_;
    if (at_ == frames_.time_ns.size()) return false;
    frame = {.time_ns = frames_.time_ns[at_],
             .data = 0,
             .can_id = frames_.can_id[at_],
             .length = frames_.length[at_],
             .label = frames_.label[at_],
             .channel = frames_.channel.empty() ? uint8_t{0} : frames_.channel[at_],
             .row = static_cast<int64_t>(at_)};
    std::memcpy(&frame.data, &frames_.data[at_ * kPayloadBytes], kPayloadBytes);
    ++at_;
    return true;
  }

 private:
  FrameSpans frames_;
  Take take_;
  uint8_t channel_;
  size_t at_ = 0;
};

/// The purpose of a simulation's random numbers: the `layer` of Purpose::simulation. Never renumber.
enum class Draw : uint32_t { vehicle = 0, start = 1, frame = 2, drive = 3, attack = 4, target = 5 };

/// A sequence of random numbers. Each number is a function of seed, use, epoch, item and its place in the
/// sequence. Not thread-safe.
class SimulationDraws {
 public:
  SimulationDraws(uint64_t seed, Draw use, uint32_t epoch, uint32_t item)
      : philox_(seed), use_(use), epoch_(epoch), item_(item) {}

  /// 32 random bits.
  uint32_t bits() {
    if (place_ % 4 == 0)
      numbers_ = philox_(
          philox_counter(Purpose::simulation, static_cast<uint32_t>(use_), epoch_, item_, place_ / 4));
    return numbers_[place_++ % 4];
  }
  /// A random number in [0, limit).
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(uint64_t{bits()} * limit >> 32); }
  /// True with probability 1 / chances.
  bool one_in(uint32_t chances) { return below(chances) == 0; }

 private:
  Philox philox_;
  Draw use_;
  uint32_t epoch_;
  uint32_t item_;
  uint32_t place_ = 0;
  Philox::Counter numbers_{};
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "can/simulate/frame_source.h"

namespace plimsoll {

/// The behaviour of an attacker during a burst. Frames that the attacker sends have label 1.
enum class AttackKind : uint8_t {
  dos,          ///< Frames of zeros with ID 000, or with the lowest ID of the bus, every 0.4 to 0.6 ms.
  fuzzing,      ///< Frames with random 11-bit IDs and payloads, every 0.5 to 1.5 ms.
  spoofing,     ///< 0.5 to 2 ms after a frame of the target, one more with its ID and a changed payload.
  replay,       ///< The last 1,024 frames of the cycle before the burst, repeated at their original pace.
  suppression,  ///< The target's frames are left out. Label 1 is set only by AttackPlan::label_silence.
  masquerade,   ///< Suppression; the attacker replaces each frame with one that has a changed payload.
  injection,    ///< One changed payload of the target, at 1 to 10 times the target's own rate.
  flooding,     ///< One changed payload of the target, every 0.4 to 0.6 ms.
};
inline constexpr int kAttackKinds = 8;

/// The name of an attack, as in names of recordings: "DoS", "fuzzing", "spoofing", "replay", "suppression",
/// "masquerade", "injection" or "flooding".
const char* attack_name(AttackKind kind);
std::vector<std::string> attack_names(const std::vector<AttackKind>& kinds);

/// Parses names of attacks separated by commas; "none" gives an empty list. Throws UsageError for a name that
/// is unknown or occurs twice.
std::vector<AttackKind> parse_attacks(std::string_view names);

/// Parameters of one attacked recording.
struct AttackPlan {
  AttackKind kind = AttackKind::dos;
  uint64_t seed = 0;
  uint32_t recording = 0;  ///< Number of the recording, which selects its random numbers.
  uint32_t target = 0;     ///< Target ID, with its flags, of all attacks but DoS, fuzzing and replay.
  uint32_t lowest = 0;     ///< Lowest ID of the bus, with its flags.
  uint8_t channel = 0;     ///< Channel of the bus, if the recording has merged channels.
  int64_t first_ns = 0;    ///< Start of the recording.
  /// Length of a cycle, which has one burst; a whole number of microseconds.
  int64_t cycle_ns = kMicrosecond;
  /// Minimum time between an injected frame and the frames before and after it.
  int64_t spacing_ns = kMicrosecond;
  /// For suppression: frames from the first one left out until the target's next one, which is excluded, have
  /// label 1.
  bool label_silence = false;
};

/// The cycle of a recording of this length: an eighth of it in nanoseconds, rounded down to whole
/// microseconds, and at least 1 us.
int64_t cycle_of(int64_t duration_ns);

/// The time in a cycle in which the attacker is active, [begin, end). It is 20 to 25 % of the cycle and
/// starts after the first quarter.
struct Burst {
  int64_t begin = 0;
  int64_t end = 0;
};
/// The burst of cycle `cycle`, counted from 0.
Burst burst_of(const AttackPlan& plan, int64_t cycle);

/// Adds an attack to the frames of a source, which are of one bus. Frames that the attack does not touch keep
/// order, times and labels. If the gap between two frames is too short for an injected frame, this frame
/// waits for the next gap; it is dropped when its burst is over. A changed payload differs in its first byte
/// and perhaps its second, in the same bits throughout a burst. Injection and flooding change the target's
/// last payload before the burst, so they skip bursts before which they have not heard the target; injection
/// needs two frames, because it measures the rate over all frames heard so far. Times of the source may run
/// backwards; cycles follow the latest time seen. Not thread-safe.
class AttackedFrames : public FrameSource {
 public:
  /// `frames` must outlive it.
  AttackedFrames(FrameSource& frames, const AttackPlan& plan);

  bool next(CanFrame& frame) override;
  /// CanFrame::row of the source's next frame, which next() has not returned yet. The maximum of int64_t if
  /// there is none.
  int64_t next_row() const { return more_ ? ahead_.row : std::numeric_limits<int64_t>::max(); }

 private:
  static constexpr size_t kReplayed = 1024;  // Maximum frames to replay.

  void take_ahead();
  void begin_cycle(int64_t cycle);
  void begin_burst();
  void pace_injection();
  void hear(const CanFrame& frame);
  void set_pending(int64_t time_ns, const CanFrame& frame);
  void choose_next();
  bool inject(CanFrame& frame);
  CanFrame forged(CanFrame frame) const;
  bool in_burst(int64_t time_ns) const { return time_ns >= burst_.begin && time_ns < burst_.end; }

  FrameSource& frames_;
  AttackPlan plan_;
  uint32_t flood_id_;
  CanFrame ahead_;  // The next frame of the source.
  bool more_ = false;
  int64_t clock_;        // The latest time of the source.
  int64_t previous_ns_;  // Time of the frame given last.
  bool silent_ = false;  // With label_silence: the target was left out and has not been heard since.

  // The target's own frames, for injection and flooding.
  CanFrame target_;  // The target's last frame.
  int64_t target_frames_ = 0;
  int64_t target_first_ns_ = 0;  // Times of the first and the last frame, by clock_.
  int64_t target_last_ns_ = 0;

  // State of this cycle.
  int64_t cycle_end_ = 0;
  Burst burst_;
  SimulationDraws draws_;
  uint64_t mask_ = 0;     // Bits in which forged payloads differ.
  bool started_ = false;  // The burst of this cycle has started.
  bool has_pending_ = false;
  uint32_t interval_us_ = 0;             // Interval of injected frames.
  int64_t slot_ns_ = 0;                  // Time at which the next injected frame is due, without jitter.
  CanFrame pending_;                     // The next frame to inject, with its intended time.
  Vector<CanFrame, Tag::ingest> heard_;  // Ring of the last frames before the burst, for replay.
  uint64_t heard_frames_ = 0;
  uint64_t replayed_ = 0;
};

/// Merges an attacked channel of a recording with the other channels: frames of the recording keep their
/// order, and added frames are placed by their time. Both sources must outlive it. Not thread-safe.
class MergedFrames : public FrameSource {
 public:
  MergedFrames(AttackedFrames& attacked, FrameSource& others) : attacked_(attacked), others_(others) {}

  bool next(CanFrame& frame) override;

 private:
  bool attacked_comes_first() const;

  AttackedFrames& attacked_;
  FrameSource& others_;
  CanFrame of_attacked_;
  CanFrame of_others_;
  bool has_attacked_ = false;
  bool has_other_ = false;
};

}  // namespace plimsoll

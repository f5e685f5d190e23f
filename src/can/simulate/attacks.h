#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "can/simulate/frame_source.h"

namespace plimsoll {

/// What an attacker does during a burst. Frames that the attacker sends have label 1.
enum class AttackKind : uint8_t {
  dos,          ///< frames of zeros of ID 000, or of the lowest ID of the bus, every 0.4 to 0.6 ms
  fuzzing,      ///< frames of random 11-bit IDs and payloads, every 0.5 to 1.5 ms
  spoofing,     ///< after each frame of the target one more of its ID, with a changed payload
  replay,       ///< what was last heard before the burst, sent again at its pace, over and over
  suppression,  ///< the target's frames are left out; label 1 only by AttackPlan::label_silence
  masquerade,   ///< suppression, and at each frame's time one of the attacker, with a changed payload
  injection,    ///< one changed payload of the target, at 1 to 10 times the target's own rate
  flooding,     ///< one changed payload of the target, every 0.4 to 0.6 ms
};
inline constexpr int kAttackKinds = 8;

/// "DoS", "fuzzing", "spoofing", "replay", "suppression", "masquerade", "injection", "flooding": as in names
/// of recordings.
const char* attack_name(AttackKind kind);
std::vector<std::string> attack_names(const std::vector<AttackKind>& kinds);

/// Attacks by name, separated by commas; "none" for none. Errors: UsageError (unknown, or named twice).
std::vector<AttackKind> parse_attacks(std::string_view names);

/// One attacked recording.
struct AttackPlan {
  AttackKind kind = AttackKind::dos;
  uint64_t seed = 0;
  uint32_t recording = 0;           ///< its number: each draws random numbers of its own
  uint32_t target = 0;              ///< the ID that all but DoS, fuzzing and replay are about
  uint32_t lowest = 0;              ///< the lowest ID of the bus
  uint8_t channel = 0;              ///< the bus, of a recording whose channels are merged
  int64_t first_ns = 0;             ///< when the recording begins
  int64_t cycle_ns = kMicrosecond;  ///< one burst in each; a whole number of us
  /// Between an injected frame and the frames before and after it, at least.
  int64_t spacing_ns = kMicrosecond;
  /// Suppression: frames from the first left out up to, not including, the target's next one have label 1.
  bool label_silence = false;
};

/// The cycle of a recording of this length: an eighth of it.
int64_t cycle_of(int64_t duration_ns);

/// When the attacker is at work in a cycle: 20 to 25 % of it, from `begin` up to, not including, `end`, and
/// not before its first quarter is over.
struct Burst {
  int64_t begin = 0;
  int64_t end = 0;
};
Burst burst_of(const AttackPlan& plan, int64_t cycle);

/// The frames of a source, of one bus, with an attack put in. Those it does not touch keep order, times and
/// labels. Where the frames of the source leave no room for one to be injected it waits for the next gap, and
/// is dropped when its burst is over. A changed payload differs in its first two bytes, in the same bits
/// throughout a burst. Injection and flooding change the target's last payload before the burst, and wait for
/// a burst before which they have heard the target: injection twice, for its rate is measured on all frames
/// heard so far. The source may run back in time; cycles go by the latest time seen.
class AttackedFrames : public FrameSource {
 public:
  /// `frames` must outlive it.
  AttackedFrames(FrameSource& frames, const AttackPlan& plan);

  bool next(CanFrame& frame) override;
  /// CanFrame::row of the next frame of the source that was not given yet; of none the greatest number.
  int64_t next_row() const { return more_ ? ahead_.row : std::numeric_limits<int64_t>::max(); }

 private:
  static constexpr size_t kReplayed = 1024;  // frames

  void take_ahead();
  void begin_cycle(int64_t cycle);
  void begin_burst();
  void pace_injection();
  void hear(const CanFrame& frame);
  void wish(int64_t time_ns, const CanFrame& frame);
  void wish_next();
  bool inject(CanFrame& frame);
  CanFrame forged(CanFrame frame) const;
  bool in_burst(int64_t time_ns) const { return time_ns >= burst_.begin && time_ns < burst_.end; }

  FrameSource& frames_;
  AttackPlan plan_;
  uint32_t flood_id_;
  CanFrame ahead_;  // the next frame of the source
  bool more_ = false;
  int64_t clock_;        // the latest time of the source
  int64_t previous_ns_;  // of the frame given last
  bool silent_ = false;  // the target was left out and is not back

  // The target's own frames, for injection and flooding.
  CanFrame target_;  // the last one
  int64_t target_frames_ = 0;
  int64_t target_first_ns_ = 0;  // by clock_, as is the next
  int64_t target_last_ns_ = 0;

  // Of this cycle:
  int64_t cycle_end_ = 0;
  Burst burst_;
  SimulationDraws draws_;
  uint64_t mask_ = 0;     // the bits in which forged payloads differ
  bool started_ = false;  // its burst has begun
  bool wishing_ = false;
  uint32_t interval_us_ = 0;             // of injection
  int64_t slot_ns_ = 0;                  // when its next frame is due, but for jitter
  CanFrame wish_;                        // the frame to inject next, at the time it is wished for
  Vector<CanFrame, Tag::ingest> heard_;  // a ring of the last frames before the burst, for replay
  uint64_t heard_frames_ = 0;
  uint64_t replayed_ = 0;
};

/// An attacked channel of a recording and its other channels, put together again: frames of the recording in
/// their order, made up ones by their time. Both sources must outlive it.
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

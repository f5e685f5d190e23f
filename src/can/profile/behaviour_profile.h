#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "can/frames/frames.h"
#include "can/profile/arrival_model.h"
#include "can/profile/bus_silence.h"
#include "can/profile/checksum_model.h"
#include "can/profile/gap.h"
#include "can/profile/signal_model.h"
#include "can/profile/signal_pairs.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct LearnedDrive;
struct ProfileSums;

/// Consecutive frames of one recording.
struct FrameWindow {
  const Recording* recording;
  int64_t first;  ///< Index of the first frame in the columns of all frames.
  int64_t count;
};

/// The benign behaviour of each ID, with which behaviour features are compared (docs/behaviour-features.md).
/// Immutable once learned, so any number of threads may read.
class BehaviourProfile {
 public:
  /// Maximum distance in frames at which the last occurrence of an ID counts as its predecessor.
  static constexpr int64_t kLookBack = 2000;
  /// Maximum payload bytes (CAN FD). The features of single bytes use the first eight.
  static constexpr int64_t kMaxPayload = 64;
  /// An ID with fewer gaps has no benign timing, and an ID with fewer frames has no benign payload.
  static constexpr int64_t kMinSamples = 8;
  /// Maximum number of IDs for which transitions are learned: their table grows with the square.
  static constexpr int32_t kMaxIds = 4096;

  /// Minimum (population) standard deviations, so that values that never varied can be compared.
  static constexpr double kMinGapDeviation = 0.005;  ///< In units of scaled_log(): about 8 % of a gap.
  static constexpr double kMinByteDeviation = 0.01;

  /// An ID with fewer pairs of successive payloads has no payloads that are considered impossible.
  static constexpr int64_t kMinSamplesToExpect = 24;
  /// IDs with a longer mean period are sent on events, so they are not expected at any time.
  static constexpr double kLongestPeriod = 3e8;  ///< Nanoseconds.
  /// Share of an ID's benign time spans that may lie beyond its minimum and its maximum.
  static constexpr double kBeyond = 0.001;
  /// The minimum time of two gaps is an expectation only if it is more than this share of two mean gaps.
  static constexpr double kMinRegularity = 0.4;
  /// Silence is expected to end if the longest gap is at most this many mean gaps.
  static constexpr double kMaxIrregularity = 2;
  /// A payload that never stayed the same for this many frames is expected to change.
  static constexpr int32_t kStandsStill = 24;
  /// Minimum share of equal steps for a byte to be a counter.
  static constexpr double kCounterShare = 0.99;

  struct Id {
    bool has_gaps = false;
    bool has_payload = false;
    uint8_t length = 0;    ///< The most frequent length, the shortest if several are equally frequent.
    double gap_mean = 0;   ///< Mean of scaled_log().
    double gap_units = 0;  ///< 1 / max(deviation, kMinGapDeviation).
    std::array<double, kPayloadBytes> byte_mean{};  ///< Mean of byte / 255.
    /// 1 / max(deviation of byte / 255, kMinByteDeviation).
    std::array<double, kPayloadBytes> byte_units{};

    // Set for IDs that are sent regularly, otherwise 0. They are bounds of bins (GapBins), and the share
    // kBeyond of the benign spans may exceed them.
    int64_t min_two_gaps = 0;  ///< Minimum nanoseconds from a frame to the second one after it.
    int64_t longest_gap = 0;   ///< Maximum nanoseconds from a frame to the next.

    // Set for IDs with at least kMinSamplesToExpect pairs of successive payloads. For other IDs no payload is
    // considered impossible.
    uint64_t fixed_bits = 0;                            ///< Bits of the first eight bytes that never changed.
    uint64_t fixed_value = 0;                           ///< Values of fixed_bits.
    std::array<uint8_t, kPayloadBytes> max_change{};    ///< Maximum change of a byte from frame to frame.
    std::array<uint8_t, kPayloadBytes> counter_mask{};  ///< Bits that count; 0 if the byte is not a counter.
    std::array<uint8_t, kPayloadBytes> counter_step{};  ///< Step of each counter.
    /// Maximum frames in a row with one payload; 0 if the payload is not expected to change.
    int32_t longest_still = 0;
    bool has_expectations = false;  ///< Whether the payload fields above are set.
  };

  explicit BehaviourProfile(Vocabulary vocabulary);

  /// Learns from the frames labelled 0 of the recordings that `from` selects. A recording with the content of
  /// an earlier one is left out. Frames that are not labelled 0 are ignored, except for silence(). Numbers of
  /// IDs are from `vocabulary`. Errors: InputError if no frame is labelled 0; BudgetExceeded.
  static BehaviourProfile learn(const FramesView& frames, Vocabulary vocabulary, const LearnFrom& from = {});

  /// Learns the profile of a calibrated vehicle from these frames, in ascending order, and builds the
  /// vocabulary from them. Frames labelled 1 are ignored, except for silence(). A run does not continue the
  /// one before. `sums`, if not null, receives the sums the profile was learned from. Errors: InputError for
  /// more than kMaxChannels channels; BudgetExceeded.
  static BehaviourProfile learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                                ProfileSums* sums = nullptr);
  /// Merges the profiles of one or more drives, each learned separately
  /// (docs/detect.md#merging-calibrations). The result does not depend on their order. `sums` receives the
  /// sums of all drives. Errors: InputError for drives whose channels differ or whose counts do not fit.
  static BehaviourProfile merged(std::span<const LearnedDrive> drives, ProfileSums& sums);

  /// Marks the IDs of added devices as known on all channels; nothing else is known about them. They are not
  /// part of vocabulary() and tensors(). No other thread may read meanwhile.
  void adopt(std::span<const uint32_t> can_ids);

  /// The profile as tensors of a model file: "profile.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// Reads the result of tensors(); `channels` holds the names by number. None if there is no "profile.ids".
  /// Errors: InputError that names a tensor that is missing, has a wrong shape or holds impossible values.
  static std::optional<BehaviourProfile> from_tensors(const NamedTensors& tensors,
                                                      std::vector<std::string> channels = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Whether the ID with this index is in the vocabulary or was adopted.
  bool is_known(int32_t index, MessageKey key) const {
    return index < vocabulary_.size() || (!adopted_.empty() && adopted_.contains(static_cast<uint32_t>(key)));
  }
  /// The profile of an ID. It is empty for the index vocabulary().size(), which means "unknown" and is the
  /// largest index allowed.
  const Id& id(int32_t index) const { return ids_[static_cast<size_t>(index)]; }
  /// Models of signals, checksums and arrivals. Empty unless the vehicle was calibrated.
  const SignalModel& signals() const { return signals_; }
  const SignalPairs& pairs() const { return pairs_; }
  const ChecksumModel& checksums() const { return checksums_; }
  const ArrivalModel& arrivals() const { return arrivals_; }
  /// How long the bus is silent. A detector file of an earlier version lacks this; BusSilence::longest_ns is
  /// then 0.
  const BusSilence& silence() const { return silence_; }
  /// Indices of the IDs whose silence is expected to end.
  std::span<const int32_t> expected() const { return expected_; }
  /// Whether a frame of `target` directly follows one of `source` in benign traffic. False for IDs outside
  /// the vocabulary, and for all if there are more than kMaxIds IDs.
  bool has_transition(int32_t source, int32_t target) const {
    const int32_t size = vocabulary_.size();
    if (source >= size || target >= size || transitions_.empty()) return false;
    const auto bit = static_cast<size_t>(source) * static_cast<size_t>(size) + static_cast<size_t>(target);
    return (transitions_[bit / 64] >> bit % 64 & 1) != 0;
  }

 private:
  struct Learner;
  void add_transition(int32_t source, int32_t target);
  void find_expected();

  Vocabulary vocabulary_;
  SignalModel signals_;
  SignalPairs pairs_;
  ChecksumModel checksums_;
  ArrivalModel arrivals_;
  BusSilence silence_;
  Vector<Id, Tag::columns> ids_;
  Vector<int32_t, Tag::columns> expected_;
  Vector<uint64_t, Tag::columns> transitions_;  // One bit per pair of known IDs.
  std::set<uint32_t> adopted_;
};

}  // namespace plimsoll

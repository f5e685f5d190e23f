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
  int64_t first;  ///< frame in the set
  int64_t count;
};

/// What benign traffic does, ID by ID: what behaviour features are compared with
/// (docs/behaviour-features.md). Immutable once learned: any number of threads may read.
class BehaviourProfile {
 public:
  /// The frames back within which the last occurrence of an ID counts as its predecessor.
  static constexpr int64_t kLookBack = 2000;
  /// Bytes of the longest payload, that of CAN FD. The features of single bytes are those of the first eight.
  static constexpr int64_t kMaxPayload = 64;
  /// With fewer gaps an ID has no benign timing, with fewer frames no benign payload.
  static constexpr int64_t kFewest = 8;
  /// With more IDs than this, transitions are not learned: their table grows with the square.
  static constexpr int32_t kMaxIds = 4096;

  /// Deviations (population) are taken for no less than these, so that what never varied can be compared.
  static constexpr double kMinGapDeviation = 0.005;  ///< of scaled_log: about 8 % of a gap
  static constexpr double kMinByteDeviation = 0.01;

  /// With fewer frames nothing is called impossible for an ID.
  static constexpr int64_t kFewestToExpect = 24;
  /// IDs that send less often on the average are not expected at any time: they send on events.
  static constexpr double kLongestPeriod = 3e8;  ///< ns
  /// The share of an ID's benign spans of time beyond its least and its longest.
  static constexpr double kBeyond = 0.001;
  /// Two gaps are expected to last a least time where that is more than this share of two mean gaps.
  static constexpr double kMinRegularity = 0.4;
  /// Silence is expected to end where the longest gap is no more than so many mean gaps.
  static constexpr double kMaxIrregularity = 2;
  /// A payload is expected to change that never stood still for so many frames.
  static constexpr int32_t kStandsStill = 24;
  /// The share of steps of a byte that must be alike for it to be a counter.
  static constexpr double kCounterShare = 0.99;

  struct Id {
    bool has_gaps = false;
    bool has_payload = false;
    uint8_t length = 0;                             ///< the most frequent one; the shortest of several
    double gap_mean = 0;                            ///< of scaled_log
    double gap_units = 0;                           ///< 1 / max(deviation, kMinGapDeviation)
    std::array<double, kPayloadBytes> byte_mean{};  ///< of byte / 255
    std::array<double, kPayloadBytes> byte_units{};

    // Of IDs that send regularly, else 0.
    int64_t min_two_gaps = 0;  ///< ns, from a frame to the second one after it
    int64_t longest_gap = 0;   ///< ns

    // Of IDs with kFewestToExpect payloads; else nothing is impossible.
    uint64_t fixed_bits = 0;                          ///< of the first eight bytes: those that never changed
    uint64_t fixed_value = 0;                         ///< and what they were
    std::array<uint8_t, kPayloadBytes> max_change{};  ///< of a byte, from frame to frame
    std::array<uint8_t, kPayloadBytes> counter_mask{};  ///< the bits of a byte that count; 0: none
    std::array<uint8_t, kPayloadBytes> counter_step{};  ///< by how much
    int32_t longest_still = 0;      ///< frames in a row with one payload; 0: it may well stand still
    bool has_expectations = false;  ///< of payload
  };

  explicit BehaviourProfile(Vocabulary vocabulary);

  /// The profile of the frames labelled 0 of the recordings that `from` takes; those with the content of an
  /// earlier one are left out, and frames that are not labelled 0 are as if they were not there. IDs are
  /// those of `vocabulary`. Errors: InputError when there is no such frame.
  static BehaviourProfile learn(const FramesView& frames, Vocabulary vocabulary, const LearnFrom& from = {});

  /// The profile of these frames, ascending, with the vocabulary of them: of a vehicle that is calibrated.
  /// Frames labelled 1 are as if they were not there; what lies between two runs is not known. `sums` get
  /// what it was learned from.
  static BehaviourProfile learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                                ProfileSums* sums = nullptr);
  /// The profile of several drives, each learned alone (docs/detect.md#drives-that-were-calibrated-apart):
  /// the same in any order. `sums` get those of all. Errors: InputError for drives whose channels differ, or
  /// that counted more than fits.
  static BehaviourProfile merged(std::span<const LearnedDrive> drives, ProfileSums& sums);

  /// From now on these IDs are known too, and nothing else of them: those of devices that joined. They are no
  /// part of vocabulary() and tensors().
  void adopt(std::span<const uint32_t> can_ids);

  /// As tensors of a model file, "profile.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// From such tensors and the names of channels by number; nothing where there is no "profile.ids". Errors:
  /// InputError that names a tensor that is missing, misshapen or holds what no profile has.
  static std::optional<BehaviourProfile> from_tensors(const NamedTensors& tensors,
                                                      std::vector<std::string> channels = {});

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Whether the ID of this index in the vocabulary is known, or was adopted.
  bool is_known(int32_t index, MessageKey key) const {
    return index < vocabulary_.size() || (!adopted_.empty() && adopted_.contains(static_cast<uint32_t>(key)));
  }
  /// An ID's profile; of the index vocabulary().size(), which is "unknown", an empty one.
  const Id& id(int32_t index) const { return ids_[static_cast<size_t>(index)]; }
  /// What its signals do, which payloads have checksums, and how soon frames come: of a vehicle that is
  /// calibrated, else nothing.
  const SignalModel& signals() const { return signals_; }
  const SignalPairs& pairs() const { return pairs_; }
  const ChecksumModel& checksums() const { return checksums_; }
  const ArrivalModel& arrivals() const { return arrivals_; }
  /// How long its bus is silent; of an earlier version never learned.
  const BusSilence& silence() const { return silence_; }
  /// The IDs whose silence is expected to end, by index.
  std::span<const int32_t> expected() const { return expected_; }
  /// Whether benign traffic has a frame of `target` right after one of `source`, both in the vocabulary.
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
  Vector<uint64_t, Tag::columns> transitions_;  // a bit for each pair of known IDs
  std::set<uint32_t> adopted_;
};

}  // namespace plimsoll

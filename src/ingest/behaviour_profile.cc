#include "ingest/behaviour_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace plimsoll {

struct BehaviourProfile::Learner {
  // Sums over an ID's benign frames, in the order of recordings and frames.
  struct Sums {
    int64_t gaps = 0;
    double gap_sum = 0;
    double gap_squares = 0;
    int64_t payloads = 0;
    std::array<int64_t, kMostPayload + 1> lengths{};
    std::array<int64_t, kPayloadBytes> bytes{};
    std::array<int64_t, kPayloadBytes> byte_squares{};
    int64_t last_frame = -1;  // in this recording, counting benign frames alone
    int64_t last_time = 0;
  };

  BehaviourProfile& profile;
  Vector<Sums, Tag::columns> sums;
  int64_t benign = 0;

  explicit Learner(BehaviourProfile& into) : profile(into), sums(into.ids_.size()) {}

  void add(const FrameSpans& frames, const Recording& recording) {
    for (Sums& id : sums) id.last_frame = -1;
    const int32_t unknown = profile.vocabulary_.size();
    int32_t previous = unknown;
    int64_t position = 0;
    for (size_t i = 0; i < frames.can_id.size(); ++i) {
      if (frames.label[i] != 0) continue;
      const int32_t index = profile.vocabulary_.index(frames.can_id[i]);
      if (previous < unknown && index < unknown) add_transition(previous, index);
      previous = index;
      Sums& id = sums[static_cast<size_t>(index)];
      if (recording.has_time && id.last_frame >= 0 && position - id.last_frame <= kLookBack) {
        const double gap = scaled_log(static_cast<double>(gap_ns(id.last_time, frames.time_ns[i])));
        ++id.gaps;
        id.gap_sum += gap;
        id.gap_squares += gap * gap;
      }
      id.last_frame = position++;
      id.last_time = frames.time_ns[i];
      if (recording.has_payload)
        add_payload(id, frames.length[i], &frames.data[i * static_cast<size_t>(frames.width)]);
      ++benign;
    }
  }

  void add_transition(int32_t source, int32_t target) {
    if (profile.transitions_.empty()) return;
    const auto bit = static_cast<size_t>(source) * static_cast<size_t>(profile.vocabulary_.size()) +
                     static_cast<size_t>(target);
    profile.transitions_[bit / 64] |= uint64_t{1} << bit % 64;
  }

  static void add_payload(Sums& id, uint8_t length, const uint8_t* payload) {
    ++id.payloads;
    ++id.lengths[std::min<size_t>(length, kMostPayload)];
    for (size_t k = 0; k < kPayloadBytes; ++k) {
      id.bytes[k] += payload[k];
      id.byte_squares[k] += payload[k] * payload[k];
    }
  }

  void finish() {
    // The last one is that of all unknown IDs, which have no profile.
    for (size_t n = 0; n + 1 < sums.size(); ++n) profile.ids_[n] = finished(sums[n]);
  }

  static Id finished(const Sums& sums) {
    Id id;
    if (sums.gaps >= kFewest) {
      const auto count = static_cast<double>(sums.gaps);
      id.has_gaps = true;
      id.gap_mean = sums.gap_sum / count;
      const double variance = std::max(sums.gap_squares / count - id.gap_mean * id.gap_mean, 0.0);
      id.gap_units = 1.0 / std::max(std::sqrt(variance), kLeastGapDeviation);
    }
    if (sums.payloads >= kFewest) {
      const auto count = static_cast<double>(sums.payloads);
      id.has_payload = true;
      id.length = static_cast<uint8_t>(std::max_element(sums.lengths.begin(), sums.lengths.end()) -
                                       sums.lengths.begin());
      for (size_t k = 0; k < kPayloadBytes; ++k) {
        const double mean = static_cast<double>(sums.bytes[k]) / count;
        const double square = static_cast<double>(sums.byte_squares[k]) / count;
        id.byte_mean[k] = mean / 255.0;
        const double deviation = std::sqrt(std::max(square - mean * mean, 0.0)) / 255.0;
        id.byte_units[k] = 1.0 / std::max(deviation, kLeastByteDeviation);
      }
    }
    return id;
  }
};

BehaviourProfile::BehaviourProfile(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), ids_(static_cast<size_t>(vocabulary_.size()) + 1) {
  const auto size = static_cast<size_t>(vocabulary_.size());
  if (vocabulary_.size() <= kMostIds) transitions_.assign((size * size + 63) / 64, 0);
}

BehaviourProfile BehaviourProfile::learn(const FramesView& frames, Vocabulary vocabulary,
                                         const LearnFrom& from) {
  BehaviourProfile profile(std::move(vocabulary));
  Learner learner(profile);
  std::set<std::string> seen;
  for (const Recording& recording : frames.recordings()) {
    if (!from.takes(recording) || !seen.insert(recording.content).second) continue;
    learner.add(frames.frames().part(recording.first_frame, recording.frames), recording);
  }
  if (learner.benign == 0)
    throw InputError(fmt::format(
        "{}: has no training frames labelled 0 to learn the benign profile from; add attack-free recordings "
        "to the splits whose names begin with 'train', or name others with --vocabulary-from",
        frames.set().folder().string()));
  learner.finish();
  return profile;
}

}  // namespace plimsoll

#include "can/profile/behaviour_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "can/profile/benign_id.h"
#include "can/profile/distinct_keys.h"
#include "can/profile/profile_sums.h"
#include "memory/charge.h"

namespace plimsoll {
namespace {

// Charges all memory for this many IDs at once, so that the error of a refusal states the total.
void require_memory(size_t ids) {
  constexpr size_t kEach = sizeof(BehaviourProfile::Id) + sizeof(BenignId) + sizeof(BenignId::Spans);
  const size_t transitions = ids <= BehaviourProfile::kMaxIds ? ids * ids / 8 : 0;
  const Charge all(Tag::columns, static_cast<int64_t>(ids * kEach + transitions));
}

}  // namespace

struct BehaviourProfile::Learner {
  BehaviourProfile& profile;
  Vector<BenignId, Tag::columns> ids;
  Vector<BenignId::Spans, Tag::columns> spans;
  int64_t benign = 0;
  const Recording* recording_before = nullptr;
  bool recording_counted = false;
  int64_t recordings = 0;  // Recordings with times and benign frames.

  explicit Learner(BehaviourProfile& into) : profile(into), ids(into.ids_.size()), spans(into.ids_.size()) {}

  // Adds the benign frames of a run and ignores all others.
  template <typename IsBenign>
  void add(const FrameSpans& frames, const Recording& recording, const IsBenign& is_benign) {
    const bool another = &recording != std::exchange(recording_before, &recording);
    for (BenignId& id : ids) id.begin_run(another);
    const int32_t unknown = profile.vocabulary_.size();
    const FrameKeys keys = profile.vocabulary_.keys(frames, recording);
    int32_t previous = unknown;
    int64_t position = 0;
    for (size_t i = 0; i < frames.can_id.size(); ++i) {
      if (!is_benign(frames.label[i])) continue;
      const int32_t index = profile.vocabulary_.index(keys[i]);
      if (previous < unknown && index < unknown) profile.add_transition(previous, index);
      previous = index;
      const auto at = static_cast<size_t>(index);
      if (recording.has_time) ids[at].add_time(position, frames.time_ns[i], spans[at]);
      if (recording.has_payload)
        ids[at].add_payload(frames.length[i], &frames.data[i * static_cast<size_t>(frames.width)]);
      ++position;
      ++benign;
    }
    if (another) recording_counted = false;
    if (recording_counted || !recording.has_time || position == 0) return;
    recording_counted = true;
    ++recordings;
  }

  void finish() {
    // The last entry is for all unknown IDs, which have no profile.
    for (size_t n = 0; n + 1 < ids.size(); ++n) profile.ids_[n] = ids[n].finished(spans[n], recordings);
    profile.find_expected();
  }
};

BehaviourProfile::BehaviourProfile(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), ids_(static_cast<size_t>(vocabulary_.size()) + 1) {
  const auto size = static_cast<size_t>(vocabulary_.size());
  if (vocabulary_.size() <= kMaxIds) transitions_.assign((size * size + 63) / 64, 0);
}

BehaviourProfile BehaviourProfile::learn(const FramesView& frames, Vocabulary vocabulary,
                                         const LearnFrom& from) {
  require_memory(vocabulary.ids().size());
  BehaviourProfile profile(std::move(vocabulary));
  Learner learner(profile);
  std::set<std::string> seen;
  for (const Recording& recording : frames.recordings()) {
    if (!from.should_learn(recording) || !seen.insert(recording.content).second) continue;
    learner.add(frames.frames().part(recording.first_frame, recording.frames), recording,
                [](uint8_t label) { return label == 0; });
    const FrameWindow run{&recording, recording.first_frame, recording.frames};
    profile.silence_.add(BusSilence::learn(frames.frames(), {&run, 1}, profile.vocabulary_));
  }
  if (learner.benign == 0)
    throw InputError(fmt::format(
        "{}: has no training frames labelled 0 to learn the benign profile from; add attack-free recordings "
        "to the splits whose names begin with 'train', or name others to `plimsoll windows "
        "--vocabulary-from`",
        frames.set().folder().string()));
  learner.finish();
  return profile;
}

BehaviourProfile BehaviourProfile::learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                                         ProfileSums* sums) {
  const auto is_benign = [](uint8_t label) { return label != 1; };
  DistinctKeys seen;
  std::vector<std::string> channels;
  for (const FrameWindow& run : runs) {
    const FrameSpans part = frames.part(run.first, run.count);
    add_channels(*run.recording, channels);
    const FrameKeys keys(part, *run.recording, channels);
    for (size_t i = 0; i < part.can_id.size(); ++i)
      if (is_benign(part.label[i])) seen.add(keys[i]);
  }
  MessageKeys keys = seen.take();
  require_memory(keys.size());
  BehaviourProfile profile(Vocabulary({std::move(keys), std::move(channels)}));
  Learner learner(profile);
  for (const FrameWindow& run : runs)
    learner.add(frames.part(run.first, run.count), *run.recording, is_benign);
  learner.finish();
  ProfileSums all;
  profile.signals_ = SignalModel::learn(frames, runs, profile.vocabulary_, all.lines);
  profile.pairs_ = SignalPairs::learn(frames, runs, profile.vocabulary_, profile.signals_);
  profile.checksums_ = ChecksumModel::learn(frames, runs, profile.vocabulary_);
  all.arrivals = ArrivalSums::count(frames, runs, profile.vocabulary_);
  profile.arrivals_ = ArrivalModel(all.arrivals);
  profile.silence_ = BusSilence::learn(frames, runs, profile.vocabulary_);
  if (sums == nullptr) return profile;
  all.recordings = learner.recordings;
  all.ids = std::move(learner.ids);
  all.spans = std::move(learner.spans);
  all.ids.pop_back();  // Drops the entry of all unknown IDs.
  all.spans.pop_back();
  *sums = std::move(all);
  return profile;
}

void BehaviourProfile::add_transition(int32_t source, int32_t target) {
  if (transitions_.empty()) return;
  const auto bit =
      static_cast<size_t>(source) * static_cast<size_t>(vocabulary_.size()) + static_cast<size_t>(target);
  transitions_[bit / 64] |= uint64_t{1} << bit % 64;
}

void BehaviourProfile::adopt(std::span<const uint32_t> can_ids) {
  adopted_.insert(can_ids.begin(), can_ids.end());
}

void BehaviourProfile::find_expected() {
  for (int32_t n = 0; n < vocabulary_.size(); ++n)
    if (id(n).longest_gap > 0) expected_.push_back(n);
}

}  // namespace plimsoll

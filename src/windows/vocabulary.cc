#include "windows/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "memory/charge.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

void require_split(const FramesView& frames, const std::string& split) {
  std::set<std::string> known;
  for (const Recording& recording : frames.recordings()) known.insert(recording.split);
  if (!known.contains(split))
    throw UsageError(fmt::format("no split '{}' to take the vocabulary from; {} has: {}", split,
                                 frames.set().folder().string(), fmt::join(known, ", ")));
}

}  // namespace

Vocabulary::Vocabulary(std::vector<uint32_t> ids) : ids_(std::move(ids)), standard_(0x800) {
  for (uint32_t id = 0; id < standard_.size(); ++id) standard_[id] = extended_index(id);
}

Vocabulary Vocabulary::from_tensor(const NamedTensors& tensors, const std::string& name) {
  std::vector<uint32_t> ids;
  for (const int64_t id : values_of<int64_t>(tensors, name, {-1})) {
    if (id < 0 || id > std::numeric_limits<uint32_t>::max() || (!ids.empty() && id <= ids.back()))
      throw InputError(
          fmt::format("the model's tensor '{}' holds no ascending CAN IDs; train it again", name));
    ids.push_back(static_cast<uint32_t>(id));
  }
  return Vocabulary(std::move(ids));
}

int32_t Vocabulary::extended_index(uint32_t can_id) const {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), can_id);
  return found != ids_.end() && *found == can_id ? static_cast<int32_t>(found - ids_.begin()) : size();
}

bool LearnFrom::takes(const Recording& recording) const {
  const bool named = splits.empty() ? is_training_split(recording.split)
                                    : std::ranges::find(splits, recording.split) != splits.end();
  return named && (!recording.attack || std::ranges::find(leave_out, *recording.attack) == leave_out.end());
}

std::vector<uint32_t> training_ids(const FramesView& frames, bool benign_only, const LearnFrom& from) {
  for (const std::string& split : from.splits) require_split(frames, split);
  std::vector<bool> standard(0x800);
  constexpr int64_t kId = 64;  // its node, its bucket, its place in the vocabulary
  Charge charge(Tag::columns);
  std::unordered_set<uint32_t> extended;
  for (const Recording& recording : frames.recordings()) {
    if (!from.takes(recording)) continue;
    const FrameSpans part = frames.frames().part(recording.first_frame, recording.frames);
    for (size_t i = 0; i < part.can_id.size(); ++i) {
      if (benign_only && part.label[i] != 0) continue;
      if (part.can_id[i] < standard.size())
        standard[part.can_id[i]] = true;
      else if (extended.insert(part.can_id[i]).second)
        charge.add(kId);
    }
  }
  std::vector<uint32_t> ids(extended.begin(), extended.end());
  for (uint32_t id = 0; id < standard.size(); ++id)
    if (standard[id]) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace plimsoll

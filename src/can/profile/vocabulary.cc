#include "can/profile/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "can/profile/distinct_keys.h"
#include "store/split_name.h"

namespace plimsoll {
namespace {

void require_split(const FramesView& frames, const std::string& split) {
  std::set<std::string> known;
  for (const Recording& recording : frames.recordings()) known.insert(recording.split);
  if (!known.contains(split))
    throw UsageError(fmt::format("no split '{}' to learn the vocabulary from; {} has: {}", split,
                                 frames.set().folder().string(), fmt::join(known, ", ")));
}

}  // namespace

Vocabulary::Vocabulary(MessageIds ids) : ids_(std::move(ids)) {
  for (size_t i = 0; i < ids_.size(); ++i) slots_.find_or_add(ids_.keys[i], static_cast<int32_t>(i));
}

Vocabulary Vocabulary::from_tensor(const NamedTensors& tensors, const std::string& name,
                                   std::vector<std::string> channels) {
  const auto end = static_cast<int64_t>(std::max<size_t>(channels.size(), 1)) << kChannelShift;
  MessageKeys keys;
  const auto stored = values_of<int64_t>(tensors, name, {-1});
  for (const int64_t key : stored) {
    if (key < 0 || key >= end || (!keys.empty() && static_cast<MessageKey>(key) <= keys.back()))
      throw InputError(fmt::format(
          "the model's tensor '{}' does not hold ascending CAN IDs of its channels; train it again", name));
    keys.push_back(static_cast<MessageKey>(key));
  }
  return Vocabulary({std::move(keys), std::move(channels)});
}

bool LearnFrom::should_learn(const Recording& recording) const {
  const bool named = splits.empty() ? is_training_split(recording.split)
                                    : std::ranges::find(splits, recording.split) != splits.end();
  return named && (!recording.attack || std::ranges::find(leave_out, *recording.attack) == leave_out.end());
}

MessageIds training_ids(const FramesView& frames, bool benign_only, const LearnFrom& from) {
  for (const std::string& split : from.splits) require_split(frames, split);
  DistinctKeys distinct;
  MessageIds ids;
  for (const Recording& recording : frames.recordings()) {
    if (!from.should_learn(recording)) continue;
    const FrameSpans part = frames.frames().part(recording.first_frame, recording.frames);
    add_channels(recording, ids.channels);
    const FrameKeys keys(part, recording, ids.channels);
    for (size_t i = 0; i < part.can_id.size(); ++i)
      if (!benign_only || part.label[i] == 0) distinct.add(keys[i]);
  }
  ids.keys = distinct.take();
  return ids;
}

}  // namespace plimsoll

#include "can/profile/frame_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

FrameKeys::FrameKeys(const FrameSpans& frames, const Recording& recording,
                     const std::vector<std::string>& known)
    : can_id_(frames.can_id.data()) {
  if (frames.channel.empty()) return;
  channel_ = frames.channel.data();
  for (size_t c = 0; c < kMaxChannels; ++c) {
    size_t number = kMaxChannels + c;
    if (c < recording.channels.size()) {
      const auto found = std::ranges::find(known, recording.channels[c]);
      if (found != known.end()) number = static_cast<size_t>(found - known.begin());
    }
    numbers_[c] = MessageKey{number} << kChannelShift;
  }
}

std::string channel_of(MessageKey key, const std::vector<std::string>& known,
                       const std::vector<std::string>& of_recording) {
  const uint64_t number = key >> kChannelShift;
  if (number < known.size()) return known[number];
  if (number >= kMaxChannels && number - kMaxChannels < of_recording.size())
    return of_recording[number - kMaxChannels];
  return known.empty() ? "" : "?";
}

void add_channels(const Recording& recording, std::vector<std::string>& known) {
  for (const std::string& name : recording.channels) {
    if (std::ranges::find(known, name) != known.end()) continue;
    if (known.size() == kMaxChannels)
      throw InputError(
          fmt::format("{}: its channel '{}' is one more than the {} that a data set may have in all",
                      recording.path(), name, kMaxChannels));
    known.push_back(name);
  }
}

}  // namespace plimsoll

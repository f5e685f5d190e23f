#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "can/frames/frames.h"

namespace plimsoll {

/// The message of each frame of a recording, with channels numbered as in a vocabulary. A view: the frames
/// must outlive it. Immutable, so any number of threads may read.
class FrameKeys {
 public:
  FrameKeys() = default;
  /// `known` holds the names of channels by number. Channels of the recording that are not among them get
  /// further numbers, starting at kMaxChannels.
  FrameKeys(const FrameSpans& frames, const Recording& recording, const std::vector<std::string>& known);

  /// The message of the frame at this index of the spans.
  MessageKey operator[](size_t frame) const {
    const MessageKey can_id = can_id_[frame];
    return channel_ == nullptr ? can_id : can_id | numbers_[channel_[frame] % kMaxChannels];
  }

 private:
  const uint32_t* can_id_ = nullptr;
  const uint8_t* channel_ = nullptr;  // Null if each recording has one channel.
  // Indexed by channel of the recording, shifted to the channel's place in the key.
  std::array<MessageKey, kMaxChannels> numbers_{};
};

/// The name of a key's channel, from `known` or from the channels `of_recording`. Empty if each recording has
/// one channel; "?" if the channel has no name.
std::string channel_of(MessageKey key, const std::vector<std::string>& known,
                       const std::vector<std::string>& of_recording);

/// Adds the names of a recording's channels that `known` does not have yet. Errors: InputError for more than
/// kMaxChannels.
void add_channels(const Recording& recording, std::vector<std::string>& known);

}  // namespace plimsoll

#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "can/frames/frames.h"

namespace plimsoll {

/// The message of each frame of a recording, as a vocabulary numbers channels. A view: the frames must
/// outlive it. Immutable.
class FrameKeys {
 public:
  FrameKeys() = default;
  /// `known`: names of channels by number. A channel of the recording that is not among them has a number of
  /// its own, from kMaxChannels on.
  FrameKeys(const FrameSpans& frames, const Recording& recording, const std::vector<std::string>& known);

  /// By the frame's place in the spans.
  MessageKey operator[](size_t frame) const {
    const MessageKey can_id = can_id_[frame];
    return channel_ == nullptr ? can_id : can_id | numbers_[channel_[frame] % kMaxChannels];
  }

 private:
  const uint32_t* can_id_ = nullptr;
  const uint8_t* channel_ = nullptr;                // null where recordings are of one channel each
  std::array<MessageKey, kMaxChannels> numbers_{};  // by channel of the recording, shifted to their place
};

/// The name of a key's channel: one of `known`, or of the recording's; empty where recordings are of one
/// channel each.
std::string channel_of(MessageKey key, const std::vector<std::string>& known,
                       const std::vector<std::string>& of_recording);

/// Adds the names of a recording's channels that are not among `known` yet. Errors: InputError for more than
/// kMaxChannels.
void add_channels(const Recording& recording, std::vector<std::string>& known);

}  // namespace plimsoll

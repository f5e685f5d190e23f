#pragma once

#include <string>
#include <string_view>

#include "can/capture/fields.h"

namespace plimsoll {

/// Selects the channels of a text to read: all, or the one given by --channel. Immutable.
class ChannelChoice {
 public:
  explicit ChannelChoice(const FormatOptions& options) : only_(options.channel) {}

  /// Whether to read a frame of this channel. If not, counts the frame in `notes`.
  bool should_read(std::string_view channel, LineNotes& notes) const {
    if (only_.empty() || channel == only_) return true;
    ++notes.other_channels;
    return false;
  }

 private:
  std::string only_;
};

/// Sets the channel of the frame that was appended last. `channel` must point into the line. Errors:
/// LineError if the batch would have more than kMaxChannels channels.
inline void set_channel(std::string_view channel, FrameBatch& out) {
  if (!out.set_channel(channel)) throw LineError{channel.data(), "at most 64 channels"};
}

/// Removes the next line from `text` and returns it without its terminator, which is \n or \r\n. The line
/// points into the text.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace plimsoll

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ingest/can/fields.h"

namespace plimsoll {

/// The one channel that a text with several is read as: --channel, else that of its first frame. Immutable.
class OneChannel {
 public:
  /// `first`: the channel of the first frame, where it is known.
  OneChannel(const FormatOptions& options, std::string_view first)
      : name_(options.channel.empty() ? std::string(first) : options.channel),
        chosen_(!options.channel.empty()) {}

  const std::string& name() const { return name_; }
  /// Whether a frame of this channel is read; else it is counted. Throws Wrong where nobody chose.
  bool takes(std::string_view channel, LineNotes& notes) const {
    if (channel == name_) return true;
    if (!chosen_)
      throw Wrong{channel.data(),
                  "channel " + shown(name_) + " as in the first frame; choose one with --channel"};
    ++notes.other_channels;
    return false;
  }

 private:
  std::string name_;
  bool chosen_;
};

/// The next line of `text` without its end; `text` keeps the rest.
inline std::string_view cut_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace plimsoll

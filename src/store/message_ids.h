#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/frames.h"
#include "store/safetensors.h"

namespace plimsoll {

/// Messages by index, as nodes of graphs have them.
struct MessageIds {
  std::vector<MessageKey> keys;  ///< distinct and ascending
  /// Names by a key's number of the channel; none where recordings are of one channel each.
  std::vector<std::string> channels = {};

  size_t size() const { return keys.size(); }
  bool empty() const { return keys.empty(); }
  bool operator==(const MessageIds&) const = default;
};

/// The names of channels of a model's file, "plimsoll.channels" in its metadata: a JSON list; absent means
/// none. Errors: InputError for anything else, or more than kMostChannels.
std::vector<std::string> channel_names(const SafetensorsView& file);
void put_channel_names(const std::vector<std::string>& names, TensorMetadata& metadata);

}  // namespace plimsoll

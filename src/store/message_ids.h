#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "store/safetensors.h"

namespace plimsoll {

/// Identifies a message. The lower 32 bits are its ID. The upper 32 bits are the index of its channel, or 0
/// if each recording has one channel.
using MessageKey = uint64_t;
inline constexpr int kChannelShift = 32;
inline constexpr size_t kMaxChannels = 64;  ///< Maximum number of channels of a recording.

/// Distinct messages in ascending order.
using MessageKeys = Vector<MessageKey, Tag::columns>;

/// The messages to which nodes of graphs refer by index.
struct MessageIds {
  MessageKeys keys;
  /// Names of channels, indexed by the channel of a key; empty if each recording has one channel.
  std::vector<std::string> channels = {};

  size_t size() const { return keys.size(); }
  bool empty() const { return keys.empty(); }
  bool operator==(const MessageIds&) const = default;
};

/// Returns a view of the keys as a tensor of dtype I64, valid as long as they are not changed.
TensorSpan as_tensor(const MessageKeys& keys);

/// Returns the names of channels in a model file: the JSON list "plimsoll.channels" of its metadata. Empty if
/// absent. Errors: InputError if it is not such a list, or has more than kMaxChannels entries.
std::vector<std::string> channel_names(const SafetensorsView& file);
/// Sets "plimsoll.channels" in the metadata, or removes it if there are no names.
void put_channel_names(const std::vector<std::string>& names, TensorMetadata& metadata);

}  // namespace plimsoll

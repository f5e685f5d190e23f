#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "store/safetensors.h"

namespace plimsoll {

/// A message: its ID, and in the bits from 32 on the number of its channel; 0 if each recording has one
/// channel.
using MessageKey = uint64_t;
inline constexpr int kChannelShift = 32;
inline constexpr size_t kMaxChannels = 64;  ///< Maximum number of channels of a recording.

/// Distinct messages in ascending order.
using MessageKeys = Vector<MessageKey, Tag::columns>;

/// Messages by index, as nodes of graphs refer to them.
struct MessageIds {
  MessageKeys keys;
  /// Names of channels by the channel number of a key; empty if each recording has one channel.
  std::vector<std::string> channels = {};

  size_t size() const { return keys.size(); }
  bool empty() const { return keys.empty(); }
  bool operator==(const MessageIds&) const = default;
};

/// Returns a view as I64.
TensorSpan as_tensor(const MessageKeys& keys);

/// Returns the names of channels in a model file: "plimsoll.channels" of its metadata, a JSON list. Empty if
/// absent. Errors: InputError for anything else, or more than kMaxChannels.
std::vector<std::string> channel_names(const SafetensorsView& file);
void put_channel_names(const std::vector<std::string>& names, TensorMetadata& metadata);

}  // namespace plimsoll

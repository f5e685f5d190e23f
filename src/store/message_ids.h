#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "store/safetensors.h"

namespace plimsoll {

/// A message: its ID and, from bit 32 on, the number of the channel it came on; 0 where recordings are of one
/// channel each.
using MessageKey = uint64_t;
inline constexpr int kChannelShift = 32;
inline constexpr size_t kMaxChannels = 64;  ///< of a recording

/// Distinct messages in ascending order.
using MessageKeys = Vector<MessageKey, Tag::columns>;

/// Messages by index, as nodes of graphs have them.
struct MessageIds {
  MessageKeys keys;
  /// Names by a key's number of the channel; none where recordings are of one channel each.
  std::vector<std::string> channels = {};

  size_t size() const { return keys.size(); }
  bool empty() const { return keys.empty(); }
  bool operator==(const MessageIds&) const = default;
};

/// I64, a view.
TensorSpan as_tensor(const MessageKeys& keys);

/// The names of channels of a model's file, "plimsoll.channels" in its metadata: a JSON list; absent means
/// none. Errors: InputError for anything else, or more than kMaxChannels.
std::vector<std::string> channel_names(const SafetensorsView& file);
void put_channel_names(const std::vector<std::string>& names, TensorMetadata& metadata);

}  // namespace plimsoll

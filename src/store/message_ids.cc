#include "store/message_ids.h"

#include <fmt/format.h>

#include <span>

#include "base/error.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

constexpr const char* kChannelNames = "plimsoll.channels";

}  // namespace

TensorSpan as_tensor(const MessageKeys& keys) {
  return {"I64", {static_cast<int64_t>(keys.size())}, std::as_bytes(std::span(keys))};
}

std::vector<std::string> channel_names(const SafetensorsView& file) {
  if (!file.metadata().contains(kChannelNames)) return {};
  return read_metadata(file, kChannelNames, [](const Json& list) {
    auto names = list.get<std::vector<std::string>>();
    if (names.size() > kMaxChannels)
      throw UsageError(fmt::format("names {} channels, expected {} at most", names.size(), kMaxChannels));
    return names;
  });
}

void put_channel_names(const std::vector<std::string>& names, TensorMetadata& metadata) {
  metadata.erase(kChannelNames);
  if (!names.empty()) metadata[kChannelNames] = Json(names).dump();
}

}  // namespace plimsoll

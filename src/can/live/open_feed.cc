#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "can/live/frame_feed.h"

namespace plimsoll {

std::unique_ptr<FrameFeed> open_feed(const std::vector<std::string>& sources, const FeedOptions& given) {
  FeedOptions options = given;
  // A stream cannot be read again when a longer frame arrives.
  if (options.format.payload == kChosenPayload) options.format.payload = kFdPayloadBytes;
  const auto is_bus = [](const std::string& source) {
    return !is_standard_input(source) && !std::filesystem::exists(source) && is_interface(source);
  };
  if (std::ranges::all_of(sources, is_bus)) return open_can_feed(sources, options);
  if (sources.size() > 1)
    throw UsageError(
        fmt::format("{} sources, of which '{}' is not a CAN interface: only interfaces can be read together",
                    sources.size(), *std::ranges::find_if_not(sources, is_bus)));
  return open_capture_feed(sources.front(), options);
}

}  // namespace plimsoll

#include "can/live/alarm_reason.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "can/detector/fusion.h"

namespace plimsoll {
namespace {

constexpr const char* kUnknown = "unknown";

constexpr std::array<std::pair<std::string_view, std::string_view>, kFusedParts> kPartWords = {{
    {kUnknown, "unknown IDs"},
    {"early", "a frame that comes too soon"},
    {"early_share", "frames that come too soon"},
    {"surplus", "more frames of an ID than its period allows"},
    {"silence", "silence"},
    {"load", "too many frames a second"},
    {"still", "a payload that stands still"},
    {"transitions", "an unusual order of IDs"},
    {"steps", "a signal that jumps"},
    {"extra", "added frames"},
    {"checksum", "wrong checksum"},
    {"apart", "signals that no longer agree"},
    {"held", "a signal that holds its value"},
    {"restless", "a signal that strays"},
    {"gat", "the network"},
    {"vgae", "the autoencoder"},
}};

// The strength of an alarm. The threshold of a fused score is 1; a threshold of log-odds may be below 0.
float strength_of(float score, float threshold) {
  return threshold > 0 ? score / threshold : 1 + score - threshold;
}

}  // namespace

AlarmReason reason_of(const WindowResult& result, float threshold, bool has_unknown_ids) {
  if (std::isnan(result.score)) return {"", result.score};
  AlarmReason reason{"", 1};
  if (result.by_part)
    for (size_t p = 0; p < kStatistics; ++p) {
      const float strength = strength_of((*result.by_part)[p], threshold);
      if (strength > reason.strength) reason = {fused_parts()[p].name, strength};
    }
  if (reason.part.empty()) reason.part = has_unknown_ids ? kUnknown : fused_parts()[FusedRows::kGat].name;
  return reason;
}

std::string reason_text(const std::string& part, std::span<const std::string> unknown) {
  constexpr size_t kMaxNamed = 4;
  if (part == kUnknown && !unknown.empty()) {
    const std::string rest =
        unknown.size() > kMaxNamed ? fmt::format(" and {} more", unknown.size() - kMaxNamed) : "";
    return fmt::format("unknown ID{} {}{}", unknown.size() == 1 ? "" : "s",
                       fmt::join(unknown.first(std::min(unknown.size(), kMaxNamed)), ", "), rest);
  }
  if (part.empty()) return "the score is not a number";
  const auto* const words = std::ranges::find(kPartWords, part, &decltype(kPartWords)::value_type::first);
  return words == kPartWords.end() ? part : std::string(words->second);
}

}  // namespace plimsoll

#include "can/live/group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <unordered_map>

#include "base/units.h"
#include "can/dbc/j1939.h"
#include "can/live/event_text.h"
#include "memory/charge.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxRows = 100;
constexpr size_t kMaxAddresses = 8;  // Maximum addresses shown in a row.

using Addresses = std::bitset<256>;

struct Group {
  uint32_t first_id = 0;
  int64_t frames = 0;
  Addresses priorities, sources, destinations;
};

std::string text_of(const Addresses& addresses) {
  std::string text;
  size_t shown = 0;
  for (size_t a = 0; a < addresses.size() && shown < kMaxAddresses; ++a)
    if (addresses[a]) text += fmt::format("{}{}", shown++ == 0 ? "" : " ", a);
  if (addresses.count() > shown) text += fmt::format(" and {} more", addresses.count() - shown);
  return text;
}

Json json_of(const Addresses& addresses) {
  Json all = Json::array();
  for (size_t a = 0; a < addresses.size(); ++a)
    if (addresses[a]) all.push_back(a);
  return all;
}

class Groups {
 public:
  explicit Groups(const FrameSpans& frames) {
    for (const uint32_t id : frames.can_id) {
      const auto parts = j1939_id(id);
      if (!parts) continue;
      const auto [at, is_new] = groups_.try_emplace(parts->pgn);
      if (is_new)
        // Charge the node, the bucket, and the place in a list.
        charge_.add(2 * static_cast<int64_t>(sizeof(*at)));
      Group& group = at->second;
      if (group.frames++ == 0) group.first_id = id;
      group.priorities.set(parts->priority);
      group.sources.set(parts->source);
      if (parts->destination) group.destinations.set(*parts->destination);
    }
  }

  /// Groups with their numbers, the most frequent first.
  std::vector<std::pair<uint32_t, const Group*>> ranked() const {
    std::vector<std::pair<uint32_t, const Group*>> ranked;
    for (const auto& [pgn, group] : groups_) ranked.emplace_back(pgn, &group);
    std::ranges::sort(ranked, {},
                      [](const auto& entry) { return std::pair(-entry.second->frames, entry.first); });
    return ranked;
  }

 private:
  std::unordered_map<uint32_t, Group> groups_;  // Indexed by number.
  Charge charge_ = Charge(Tag::columns);
};

}  // namespace

Json groups_json(const FrameSpans& frames, const Dbc& dbc) {
  const Groups groups(frames);
  Json all = Json::array();
  for (const auto& [pgn, group] : groups.ranked())
    all.push_back({{"pgn", pgn},
                   {"name", message_name(group->first_id, &dbc, true)},
                   {"frames", group->frames},
                   {"priorities", json_of(group->priorities)},
                   {"sources", json_of(group->sources)},
                   {"destinations", json_of(group->destinations)}});
  return all;
}

std::string group_table(const FrameSpans& frames, const Dbc& dbc) {
  const Groups groups(frames);
  const auto ranked = groups.ranked();
  Table table({"PGN", "hex", "frames", "<priority", "<from", "<to", "<message"});
  for (const auto& [pgn, group] : std::span(ranked).first(std::min(ranked.size(), kMaxRows)))
    table.add({fmt::format("{}", pgn), fmt::format("{:04X}", pgn), format_count(group->frames),
               text_of(group->priorities), text_of(group->sources),
               group->destinations.none() ? "all" : text_of(group->destinations),
               message_name(group->first_id, &dbc, true)});
  std::string text = fmt::format("{} parameter groups of 29-bit IDs\n\n{}",
                                 format_count(static_cast<int64_t>(ranked.size())), table.text());
  if (ranked.size() > kMaxRows)
    text += fmt::format("and {} more\n", format_count(static_cast<int64_t>(ranked.size() - kMaxRows)));
  return text;
}

}  // namespace plimsoll

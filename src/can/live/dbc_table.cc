#include "can/live/dbc_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "can/live/dbc_remarks.h"
#include "can/live/event_text.h"
#include "memory/charge.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxListed = 16;  // Maximum entries of a list.

// The values of a signal in the frames.
struct Values {
  int64_t frames = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
};

struct SeenMessage {
  const Dbc::Messages::value_type* message;
  int64_t frames = 0;
  uint32_t first_id = 0;
  int64_t ids = 0;  // Number of IDs; a parameter group may have several.
  std::set<uint8_t> lengths = {};
  std::vector<Values> signals = {};
};

class SeenMessages {
 public:
  SeenMessages(const FrameSpans& frames, const Dbc& dbc) : dbc_(dbc) {
    for (size_t i = 0; i < frames.can_id.size(); ++i) {
      const uint32_t id = frames.can_id[i] & ~kCanRemote;
      if ((id & kCanError) != 0) continue;
      SeenMessage* const seen = message_of(id);
      if (seen == nullptr) continue;
      ++seen->frames;
      if ((frames.can_id[i] & kCanRemote) != 0) continue;
      seen->lengths.insert(frames.length[i]);
      add_signals(*seen, frames.data.data() + static_cast<int64_t>(i) * frames.width,
                  std::min<int64_t>(frames.length[i], frames.width));
    }
  }

  /// Most frequent messages first.
  std::vector<const SeenMessage*> messages() const {
    std::vector<const SeenMessage*> all;
    for (const auto& [id, seen] : messages_) all.push_back(&seen);
    std::ranges::stable_sort(all, std::ranges::greater{}, &SeenMessage::frames);
    return all;
  }
  std::vector<std::pair<uint32_t, int64_t>> unknown() const {
    std::vector<std::pair<uint32_t, int64_t>> all;
    for (const auto& [id, place] : by_id_)
      if (place.seen == nullptr) all.emplace_back(id, place.frames);
    std::ranges::sort(all, {}, [](const auto& entry) { return std::pair(-entry.second, entry.first); });
    return all;
  }

 private:
  // The message of an ID; null if the DBC does not know it.
  struct Place {
    SeenMessage* seen = nullptr;
    int64_t frames = 0;
  };

  SeenMessage* message_of(uint32_t id) {
    const auto [at, is_new] = by_id_.try_emplace(id);
    if (is_new) {
      // Charge the node, the bucket, and the place in a list.
      charge_.add(2 * static_cast<int64_t>(sizeof(*at)));
      if (const auto* const found = dbc_.find(id)) {
        SeenMessage& seen = messages_.try_emplace(found->first, found).first->second;
        seen.signals.resize(found->second.signals.size());
        if (seen.ids++ == 0) seen.first_id = id;
        at->second.seen = &seen;
      }
    }
    ++at->second.frames;
    return at->second.seen;
  }

  static void add_signals(SeenMessage& seen, const uint8_t* payload, int64_t bytes) {
    const DbcMessage& message = seen.message->second;
    DbcPayload read(message, payload, bytes);
    for (size_t s = 0; s < message.signals.size(); ++s) {
      const DbcSignal& signal = message.signals[s];
      const std::optional<int64_t> raw = read.raw(signal);
      if (!raw || (message.is_group && signal.is_no_value(*raw))) continue;
      const double value = signal.physical(*raw);
      Values& values = seen.signals[s];
      ++values.frames;
      values.min = std::min(values.min, value);
      values.max = std::max(values.max, value);
    }
  }

  const Dbc& dbc_;
  Charge charge_ = Charge(Tag::columns);
  std::unordered_map<uint32_t, Place> by_id_;
  std::map<uint32_t, SeenMessage> messages_;  // Indexed by the DBC's ID.
};

// Null for NaN and infinity.
Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json signal_json(const DbcSignal& signal, const Values& values) {
  Json json = {{"name", signal.name}, {"unit", signal.unit}, {"frames", values.frames}};
  const bool any = values.frames > 0;
  json["least"] = any ? number_or_null(values.min) : Json();
  json["most"] = any ? number_or_null(values.max) : Json();
  json["stated"] = signal.has_range() ? Json{number_or_null(signal.min), number_or_null(signal.max)} : Json();
  return json;
}

std::string ids_text(const SeenMessage& seen) {
  return id_text(seen.first_id) + (seen.ids > 1 ? fmt::format(" and {} more", seen.ids - 1) : "");
}

std::string unknown_text(const std::vector<std::pair<uint32_t, int64_t>>& unknown) {
  if (unknown.empty()) return "";
  std::string text =
      fmt::format("\n{} IDs that the DBC does not know:", format_count(static_cast<int64_t>(unknown.size())));
  for (const auto& [id, count] : std::span(unknown).first(std::min(unknown.size(), kMaxListed)))
    text += fmt::format(" {} ({})", id_text(id), format_count(count));
  if (unknown.size() > kMaxListed)
    text += fmt::format(" and {} more", format_count(static_cast<int64_t>(unknown.size() - kMaxListed)));
  return text + "\n";
}

}  // namespace

std::string dbc_table(const FrameSpans& frames, const Dbc& dbc) {
  const SeenMessages seen(frames, dbc);
  Table messages({"<ID", "<message", "frames", "bytes", "stated"});
  Table signals({"<message", "<signal", "<unit", "frames", "least", "most", "stated"});
  int64_t known = 0;
  for (const SeenMessage* const seen_message : seen.messages()) {
    const DbcMessage& message = seen_message->message->second;
    known += seen_message->frames;
    messages.add({ids_text(*seen_message), message.name, format_count(seen_message->frames),
                  fmt::format("{}", fmt::join(seen_message->lengths, " ")),
                  fmt::format("{}", message.length)});
    for (size_t s = 0; s < message.signals.size(); ++s) {
      const DbcSignal& signal = message.signals[s];
      const Values& values = seen_message->signals[s];
      const bool any = values.frames > 0;
      signals.add({message.name, signal.name, signal.unit, format_count(values.frames),
                   any ? fmt::format("{:g}", values.min) : "-", any ? fmt::format("{:g}", values.max) : "-",
                   signal.has_range() ? fmt::format("{:g} .. {:g}", signal.min, signal.max) : "-"});
    }
  }
  std::string text = fmt::format("{} of {} messages of the DBC, in {} of {} frames\n", seen.messages().size(),
                                 dbc.messages().size(), format_count(known), format_count(frames.size()));
  if (known > 0) text += fmt::format("\n{}\n{}", messages.text(), signals.text());
  return text + unknown_text(seen.unknown());
}

Json dbc_json(const FrameSpans& frames, const Dbc& dbc) {
  const SeenMessages seen(frames, dbc);
  Json messages = Json::array();
  int64_t known = 0;
  for (const SeenMessage* const seen_message : seen.messages()) {
    const DbcMessage& message = seen_message->message->second;
    known += seen_message->frames;
    Json signals = Json::array();
    for (size_t s = 0; s < message.signals.size(); ++s)
      signals.push_back(signal_json(message.signals[s], seen_message->signals[s]));
    messages.push_back({{"id", id_text(seen_message->first_id)},
                        {"ids", seen_message->ids},
                        {"name", message.name},
                        {"frames", seen_message->frames},
                        {"bytes", seen_message->lengths},
                        {"stated_bytes", message.length},
                        {"signals", std::move(signals)}});
  }
  Json unknown = Json::array();
  for (const auto& [id, count] : seen.unknown()) unknown.push_back({{"id", id_text(id)}, {"frames", count}});
  return {{"messages_of_dbc", dbc.messages().size()},
          {"frames", frames.size()},
          {"known_frames", known},
          {"messages", std::move(messages)},
          {"unknown_ids", std::move(unknown)},
          {"remarks", remarks_json(dbc)}};
}

}  // namespace plimsoll

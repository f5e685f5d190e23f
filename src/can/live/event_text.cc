#include "can/live/event_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/number_text.h"
#include "base/version.h"
#include "base/word_text.h"
#include "can/dbc/j1939.h"
#include "can/frames/frames.h"

namespace plimsoll {
namespace {

std::string name_of(uint32_t id, const EventContext& context) {
  return message_name(id, context.dbc, context.j1939);
}

// The IDs of an incident, the most frequent first.
std::vector<std::pair<Incident::Id, Incident::Named>> ranked_ids(const Incident& incident) {
  std::vector<std::pair<Incident::Id, Incident::Named>> ids(incident.ids.begin(), incident.ids.end());
  std::ranges::stable_sort(ids,
                           [](const auto& a, const auto& b) { return a.second.windows > b.second.windows; });
  return ids;
}

// The value as JSON; null for NaN.
Json number_json(float value) {
  return std::isfinite(value) ? Json(shortest_double(value)) : Json();
}

// `low` is 2 because OCSF's 1 is informational.
int ocsf_severity(Severity severity) {
  return 2 + static_cast<int>(severity);
}

std::string title_of(const Incident& incident) {
  return fmt::format("Unusual CAN traffic{}: {}", incident.channel.empty() ? "" : " on " + incident.channel,
                     incident.reason());
}

// An incident's unique name across all runs: detector, start time in the traffic, and number.
std::string uid_of(const Incident& incident) {
  return fmt::format("{}-{}-{}", incident.detector, incident.start_ns, incident.number);
}

// PARAM-VALUE of RFC 5424: three characters are escaped.
std::string param_value(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == ']') result += '\\';
    result += c;
  }
  return result + '"';
}

// HOSTNAME: printable ASCII without blanks.
std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "-";
  std::string text(name.data());
  for (char& c : text)
    if (c <= ' ' || c > '~') c = '_';
  return text;
}

}  // namespace

std::string id_text(uint32_t can_id, const std::string& channel) {
  return fmt::format("{}{}0x{:0{}X}", channel, channel.empty() ? "" : ":", can_id & 0x1FFFFFFF,
                     (can_id & kCanExtended) != 0 ? 8 : 3);
}

std::string message_name(uint32_t can_id, const Dbc* dbc, bool j1939) {
  std::string name = dbc == nullptr ? "" : dbc->name_of(can_id);
  if (const auto parts = name.empty() && j1939 ? j1939_id(can_id) : std::nullopt)
    name = j1939_group_name(parts->pgn);
  return name;
}

void add_j1939(uint32_t can_id, Json& json) {
  const auto parts = j1939_id(can_id);
  if (!parts) return;
  json["pgn"] = parts->pgn;
  json["source"] = parts->source;
  if (parts->destination) json["destination"] = *parts->destination;
}

std::string iso_time(int64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds), time_ns % 1'000'000'000 / 1000);
}

Json event_json(const Incident& incident, const EventContext& context) {
  Json ids = Json::array();
  for (const auto& [id, named] : ranked_ids(incident)) {
    Json id_json = {{"id", id_text(id.can_id)}, {"windows", named.windows}, {"known", named.known}};
    if (!id.channel.empty()) id_json["channel"] = id.channel;
    if (context.j1939) add_j1939(id.can_id, id_json);
    if (const std::string name = name_of(id.can_id, context); !name.empty()) id_json["name"] = name;
    ids.push_back(std::move(id_json));
  }
  Json event = {{"event", "incident"},
                {"state", state_name(incident.state)},
                {"incident", incident.number},
                {"start", iso_time(incident.start_ns)},
                {"end", iso_time(incident.end_ns)},
                {"start_ns", incident.start_ns},
                {"end_ns", incident.end_ns},
                {"windows", incident.windows},
                {"worst_score", number_json(incident.worst)},
                {"threshold", number_json(incident.threshold)},
                {"strength", number_json(incident.strength)},
                {"severity", incident.severity()},
                {"part", incident.part},
                {"reason", incident.reason()},
                {"ids", ids},
                {"source", context.source},
                {"detector", incident.detector}};
  if (!incident.channel.empty()) event["channel"] = incident.channel;
  if (!context.vehicle.empty()) event["vehicle"] = context.vehicle;
  if (context.suppressed > 0) event["suppressed"] = context.suppressed;
  if (context.filtered > 0) event["filtered_alarms"] = context.filtered;
  return event;
}

// Required attributes and codes: ocsf-schema, events/findings/{finding,detection_finding}.json,
// objects/{finding_info,metadata,product}.json.
Json event_ocsf(const Incident& incident, const EventContext& context) {
  constexpr int kClass = 2004;
  const int activity = incident.state == Incident::State::open      ? 1
                       : incident.state == Incident::State::ongoing ? 2
                                                                    : 3;
  constexpr std::array<const char*, 4> kActivities = {"", "Create", "Update", "Close"};
  const auto ms = [](int64_t time_ns) { return time_ns / 1'000'000; };
  const Severity severity = incident.severity();
  std::string caption(word_of(severity));
  caption[0] = static_cast<char>(caption[0] - 'a' + 'A');
  Json resources = Json::array();
  if (!context.vehicle.empty()) resources.push_back({{"type", "vehicle"}, {"name", context.vehicle}});
  resources.push_back(
      {{"type", "CAN bus"}, {"name", incident.channel.empty() ? context.source : incident.channel}});
  for (const auto& [id, named] : ranked_ids(incident)) {
    Json id_json = {{"type", "CAN message"}, {"uid", id_text(id.can_id, id.channel)}};
    if (const std::string name = name_of(id.can_id, context); !name.empty()) id_json["name"] = name;
    resources.push_back(std::move(id_json));
  }
  return {{"class_uid", kClass},
          {"class_name", "Detection Finding"},
          {"category_uid", 2},
          {"category_name", "Findings"},
          {"activity_id", activity},
          {"activity_name", kActivities.at(static_cast<size_t>(activity))},
          {"type_uid", kClass * 100 + activity},
          {"time", ms(activity == 1 ? incident.start_ns : incident.end_ns)},
          {"start_time", ms(incident.start_ns)},
          {"end_time", ms(incident.end_ns)},
          {"count", incident.windows},
          {"severity_id", ocsf_severity(severity)},
          {"severity", caption},
          {"status_id", 1},  // Status "new": people decide whether it is resolved.
          {"status", "New"},
          {"message", title_of(incident)},
          {"metadata",
           {{"version", "1.3.0"},
            {"sequence", incident.number},
            {"product", {{"name", "Plimsoll"}, {"vendor_name", "Plimsoll"}, {"version", kVersion}}}}},
          {"finding_info",
           {{"uid", uid_of(incident)},
            {"title", title_of(incident)},
            {"types", {incident.part}},
            {"created_time", ms(incident.start_ns)},
            {"first_seen_time", ms(incident.start_ns)},
            {"last_seen_time", ms(incident.end_ns)},
            {"analytic",
             {{"type_id", 4},  // Analytic type "learning".
              {"type", "Learning (ML/DL)"},
              {"name", "plimsoll detect"},
              {"uid", incident.detector}}}}},
          {"resources", resources},
          {"unmapped", event_json(incident, context)}};
}

std::string event_syslog(const Incident& incident, const EventContext& context) {
  constexpr int kLocal0 = 16;
  const Severity severity = incident.severity();
  // Syslog's levels: 5 is notice, 4 warning, 1 alert.
  const int level = incident.state == Incident::State::closed ? 5 : 4 - static_cast<int>(severity);
  std::string ids;
  for (const auto& [id, named] : ranked_ids(incident)) {
    const std::string name = name_of(id.can_id, context);
    ids += fmt::format("{}{}{}", ids.empty() ? "" : ",", id_text(id.can_id, id.channel),
                       name.empty() ? "" : ":" + name);
  }
  // 32473 is the enterprise number for examples (RFC 5612): Plimsoll has no number of its own.
  std::string data = fmt::format(
      "[incident@32473 number=\"{}\" state=\"{}\" start=\"{}\" end=\"{}\" windows=\"{}\" worst=\"{}\" "
      "threshold=\"{}\" strength=\"{}\" severity=\"{}\" part=\"{}\" ids={} source={} detector=\"{}\"",
      incident.number, state_name(incident.state), iso_time(incident.start_ns), iso_time(incident.end_ns),
      incident.windows, incident.worst, incident.threshold, incident.strength, severity, incident.part,
      param_value(ids), param_value(context.source), incident.detector);
  if (!incident.channel.empty()) data += " channel=" + param_value(incident.channel);
  if (!context.vehicle.empty()) data += " vehicle=" + param_value(context.vehicle);
  if (context.suppressed > 0) data += fmt::format(" suppressed=\"{}\"", context.suppressed);
  if (context.filtered > 0) data += fmt::format(" filteredAlarms=\"{}\"", context.filtered);
  return fmt::format("<{}>1 {} {} plimsoll {} incident {}] {}", kLocal0 * 8 + level,
                     iso_time(incident.state == Incident::State::open ? incident.start_ns : incident.end_ns),
                     host_name(), ::getpid(), data, title_of(incident));
}

}  // namespace plimsoll

#include "can/live/alarm_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/json_text.h"
#include "base/number_text.h"
#include "base/units.h"
#include "can/dbc/j1939.h"
#include "can/live/alarm_reason.h"
#include "can/live/event_text.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxShown = 5;     // Maximum nodes, and edges, shown.
constexpr size_t kMaxUnknown = 16;  // Maximum IDs in a line.

// Processor time that this process has used, in seconds.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Throws if output was lost, because a lost alarm must not look like no alarm.
void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw Failure(fmt::format("standard output: {}; alarms are lost", std::strerror(errno)));
}

double rate(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// The scores of the parts that count for the fused score.
Json parts_json(const WindowResult& result) {
  Json parts = Json::object();
  for (size_t p = 0; p < kFusedParts; ++p)
    if (const float score = (*result.by_part)[p]; std::isfinite(score))
      parts[fused_parts()[p].name] = shortest_double(score);
  return parts;
}

std::string text_of(const StreamDetector& detector, MessageKey key) {
  return id_text(static_cast<uint32_t>(key), detector.channel_of(key));
}

std::vector<std::string> unknown_ids(const StreamDetector& detector) {
  std::vector<std::string> unknown;
  for (const MessageKey id : detector.node_ids())
    if (!detector.is_known(id)) unknown.push_back(text_of(detector, id));
  return unknown;
}

// The reason why a window is an alarm; empty if it is not one.
std::string why(const WindowResult& result, const StreamDetector& detector) {
  if (!result.alarm) return "";
  const std::vector<std::string> unknown = unknown_ids(detector);
  return reason_text(reason_of(result, detector.threshold(), !unknown.empty()).part, unknown);
}

}  // namespace

// Formats a message: "0x2C0", "0x2C0 Engine" if names are known, or with J1939 "0x18FEF100 CCVS (PGN 65265
// from 0)".
std::string AlarmLines::name_of(const StreamDetector& detector, MessageKey key) const {
  const auto can_id = static_cast<uint32_t>(key);
  std::string text = text_of(detector, key);
  if (const std::string name = message_name(can_id, options_.dbc, options_.j1939); !name.empty())
    text += " " + name;
  if (const auto parts = options_.j1939 ? j1939_id(can_id) : std::nullopt)
    text += fmt::format(" (PGN {} from {}{})", parts->pgn, parts->source,
                        parts->destination ? fmt::format(" to {}", *parts->destination) : "");
  return text;
}

// A text that states whether the message is unknown to the detector, the DBC, or both.
std::string AlarmLines::strangeness_of(const StreamDetector& detector, MessageKey key) const {
  const bool unnamed = options_.dbc != nullptr && !options_.dbc->messages().empty() &&
                       options_.dbc->find(static_cast<uint32_t>(key)) == nullptr;
  if (!detector.is_known(key)) return unnamed ? " (unknown, not in the DBC)" : " (unknown)";
  return unnamed ? " (not in the DBC)" : "";
}

void AlarmLines::add(const WindowResult& result, const StreamDetector& detector, const StreamPlace& place,
                     Clock::time_point arrived) {
  if (windows_++ == 0) first_result_s_ = watch_.seconds();
  alarms_ += result.alarm;
  labelled_ |= result.labelled;
  attacks_ += result.attack;
  found_ += result.attack && result.alarm;
  const auto [traffic, first] = traffic_.try_emplace(place.channel, Traffic{result.window.time_ns, 0});
  const auto passed = static_cast<int64_t>(gap_ns(traffic->second.last_ns, result.window.time_ns));
  if (!first && passed <= WindowStream::kMaxPause) traffic->second.total_ns += passed;
  traffic->second.last_ns = result.window.time_ns;
  if (!options_.incidents && (result.alarm || options_.all)) {
    const std::string line =
        options_.json ? json_text(line_json(result, detector, place)) : line_text(result, detector, place);
    std::puts(line.c_str());
    flush_output();
  }
  latency_.add(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - arrived).count());
}

void AlarmLines::add(const Silence& silence, const StreamDetector& detector, const StreamPlace& place) {
  ++alarms_;
  ++silences_;
  if (options_.incidents) return;
  const int64_t passed = bounded_gap_ns(silence.since_ns, silence.time_ns);
  std::string line;
  if (options_.json) {
    Json json = {{"silence_ns", passed},
                 {"time_ns", silence.time_ns},
                 {"score", shortest_double(silence.score)},
                 {"threshold", shortest_double(detector.threshold())},
                 {"alarm", true},
                 {"parts", {{"silence", shortest_double(silence.score)}}}};
    if (!place.channel.empty()) json["channel"] = place.channel;
    line = json_text(json);
  } else {
    line = fmt::format("ALARM{}{} no frame for {:.3f} s at {:.6f} s: score {:.3f} by silence",
                       place.channel.empty() ? "" : " ", place.channel, static_cast<double>(passed) / 1e9,
                       static_cast<double>(silence.time_ns) / 1e9, silence.score);
  }
  std::puts(line.c_str());
  flush_output();
}

Json AlarmLines::line_json(const WindowResult& result, const StreamDetector& detector,
                           const StreamPlace& place) const {
  const MessageKeys ids = detector.node_ids();
  const Focus focus = detector.focus(kMaxShown);
  Json nodes = Json::array();
  for (const auto& [index, share] : focus.nodes) {
    const MessageKey key = ids[static_cast<size_t>(index)];
    const auto id = static_cast<uint32_t>(key);
    nodes.push_back(
        {{"id", id_text(id)}, {"known", detector.is_known(key)}, {"share", shortest_double(share)}});
    if (const std::string channel = detector.channel_of(key); !channel.empty())
      nodes.back()["channel"] = channel;
    if (const std::string name = message_name(id, options_.dbc, options_.j1939); !name.empty())
      nodes.back()["name"] = name;
    if (options_.j1939) add_j1939(id, nodes.back());
  }
  Json edges = Json::array();
  for (const auto& [index, share] : focus.edges) {
    const int32_t* const ends = &detector.graph().edges[2 * static_cast<size_t>(index)];
    edges.push_back({{"source", text_of(detector, ids[static_cast<size_t>(ends[0])])},
                     {"target", text_of(detector, ids[static_cast<size_t>(ends[1])])},
                     {"share", shortest_double(share)}});
  }
  Json line = {{"window", place.first_window + result.window.number},
               {"first_frame", place.first_frame + result.window.first_frame},
               {"frames", result.window.frames},
               {"time_ns", result.window.time_ns},
               {"score", shortest_double(result.score)},
               {"threshold", shortest_double(detector.threshold())},
               {"alarm", result.alarm},
               {"unknown_ids", unknown_ids(detector)},
               {"nodes", nodes},
               {"edges", edges}};
  if (result.alarm) line["reason"] = why(result, detector);
  if (result.by_part) line["parts"] = parts_json(result);
  if (result.labelled) line["attack"] = result.attack;
  if (!place.channel.empty()) line["channel"] = place.channel;
  return line;
}

std::string AlarmLines::line_text(const WindowResult& result, const StreamDetector& detector,
                                  const StreamPlace& place) const {
  const MessageKeys ids = detector.node_ids();
  std::string text =
      fmt::format("{}{} window {} at {:.6f} s: score {:.3f}", result.alarm ? "ALARM" : "  ok ",
                  place.channel.empty() ? "" : " " + place.channel, place.first_window + result.window.number,
                  static_cast<double>(result.window.time_ns) / 1e9, result.score);
  if (const std::string reason = why(result, detector); !reason.empty()) text += " by " + reason;
  const Focus focus = detector.focus(3);
  for (const auto& [index, share] : focus.nodes) {
    const MessageKey id = ids[static_cast<size_t>(index)];
    text += fmt::format("  {}{} {:.0f} %", name_of(detector, id), strangeness_of(detector, id), 100 * share);
  }
  MessageKeys others;  // Unknown IDs that attention does not point at.
  for (size_t i = 0; i < ids.size(); ++i)
    if (!detector.is_known(ids[i]) &&
        std::ranges::find(focus.nodes, static_cast<int32_t>(i), &Focus::Share::index) == focus.nodes.end())
      others.push_back(ids[i]);
  for (size_t i = 0; i < std::min(others.size(), kMaxUnknown); ++i)
    text += fmt::format("  {}{}", name_of(detector, others[i]), strangeness_of(detector, others[i]));
  if (others.size() > kMaxUnknown) text += fmt::format("  and {} more unknown", others.size() - kMaxUnknown);
  return text;
}

Json AlarmLines::summary_json(const FeedLosses& losses, const Json& memory) const {
  const double seconds = watch_.seconds();
  const double busy = processor_seconds();
  Json summary = {{"windows", windows_},
                  {"alarms", alarms_},
                  {"silences", silences_},
                  {"frames", frames_},
                  {"recordings", recordings_},
                  {"seconds", seconds},
                  {"processor_seconds", busy},
                  {"windows_per_s", rate(windows_, busy)},
                  {"frames_per_s", rate(frames_, busy)},
                  {"first_verdict_s", windows_ > 0 ? Json(first_result_s_) : Json()},
                  {"latency_ns",
                   {{"p50", latency_.quantile(0.5)},
                    {"p99", latency_.quantile(0.99)},
                    {"p99_9", latency_.quantile(0.999)},
                    {"max", latency_.max()}}},
                  {"malformed_lines", losses.lines},
                  {"malformed", losses.expected},
                  {"other_channels", losses.other_channels},
                  {"other_records", losses.other_records},
                  {"stray_bytes", losses.stray_bytes},
                  {"dropped_frames", losses.frames},
                  {"memory", memory}};
  if (losses.truncation) summary["truncated_at"] = losses.truncation->at;
  const double hours = traffic_hours();
  summary["traffic_hours"] = hours;
  summary["alarms_per_hour"] = hours > 0 ? Json(static_cast<double>(alarms_) / hours) : Json();
  if (labelled_)
    summary["labels"] = {
        {"attack_windows", attacks_},
        {"found", found_},
        {"false_alarms_per_hour", hours > 0 ? Json(static_cast<double>(false_alarms()) / hours) : Json()}};
  return summary;
}

// Channels carry traffic at the same time, so the longest duration counts.
double AlarmLines::traffic_hours() const {
  int64_t longest = 0;
  for (const auto& [channel, traffic] : traffic_) longest = std::max(longest, traffic.total_ns);
  return static_cast<double>(longest) / 3.6e12;
}

void AlarmLines::summarise(const FeedLosses& losses, const Json& memory, const Json& events) {
  Json summary = summary_json(losses, memory);
  if (!events.is_null()) summary["events"] = events;
  if (!options_.summary) return;
  if (options_.json || options_.incidents)
    print_json(Json{{"summary", summary}});
  else
    print_summary(summary);
  flush_output();
}

void AlarmLines::print_summary(const Json& summary) const {
  const auto us = [&](const char* key) { return summary.at("latency_ns").at(key).get<double>() / 1e3; };
  fmt::print("{} alarms in {} windows of {} frames, {}\n", format_count(alarms_), format_count(windows_),
             format_count(frames_), format_seconds(summary.at("seconds")));
  if (silences_ > 0) fmt::print("{} of them because the bus was silent\n", format_count(silences_));
  const auto print_rate = [](const char* name, const Json& per_hour) {
    if (per_hour.is_null()) return;
    fmt::print("{}: {:.3g} an hour of traffic, {:.3g} a day\n", name, per_hour.get<double>(),
               24 * per_hour.get<double>());
  };
  print_rate("alarms", summary.at("alarms_per_hour"));
  if (labelled_) {
    fmt::print("labels: {} of {} windows with attacks found, {} false alarms in {} without\n",
               format_count(found_), format_count(attacks_), format_count(false_alarms()),
               format_count(windows_ - attacks_));
    print_rate("false alarms", summary.at("labels").at("false_alarms_per_hour"));
  }
  fmt::print(
      "latency of a window: p50 {:.0f} us, p99 {:.0f} us, p99.9 {:.0f} us, most {:.0f} us; {} windows/s of a "
      "core; first result after {:.0f} ms\n",
      us("p50"), us("p99"), us("p99_9"), us("max"),
      format_count(static_cast<int64_t>(summary.at("windows_per_s").get<double>())), 1e3 * first_result_s_);
  for (const auto& [expected, count] : summary.at("malformed").items())
    fmt::print("left out {} malformed lines: expected {}\n", count.get<int64_t>(), expected);
  if (const int64_t others = summary.at("other_channels"); others > 0)
    fmt::print("left out {} frames of other channels\n", format_count(others));
  if (const int64_t others = summary.at("other_records"); others > 0)
    fmt::print("left out {} records that are not frames\n", format_count(others));
  if (const int64_t stray = summary.at("stray_bytes"); stray > 0)
    fmt::print("left out {} bytes between records\n", format_count(stray));
  if (const int64_t dropped = summary.at("dropped_frames"); dropped > 0)
    fmt::print("the kernel dropped {} frames that were not read in time\n", dropped);
  const Json& memory = summary.at("memory");
  fmt::print("memory: ledger {}, anonymous peak {}\n",
             format_bytes(memory.at("ledger_peak_bytes").get<int64_t>()),
             format_bytes(memory.at("anonymous_peak_bytes").get<int64_t>()));
}

}  // namespace plimsoll

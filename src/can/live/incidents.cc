#include "can/live/incidents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "can/live/event_text.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinute = 60'000'000'000;

bool does_exist(const std::filesystem::path& path) {
  std::error_code none;
  return !path.empty() && std::filesystem::exists(path, none);
}

// Minimum number of alarms in a lasting incident, and in an incident that is not accidental.
constexpr int64_t kLasting = 10;
constexpr int64_t kFew = 3;

}  // namespace

Severity Incident::severity() const {
  if (!std::isfinite(strength)) return Severity::critical;
  size_t level = strength < 2 ? 0 : strength < 5 ? 1 : strength < 20 ? 2 : 3;
  if (windows >= kLasting) ++level;
  if (windows < kFew) level = std::min<size_t>(level, 2);
  return static_cast<Severity>(std::min(level, kWords<Severity>.size() - 1));
}

std::string Incident::reason() const {
  std::vector<std::pair<int64_t, std::string>> unknown;
  for (const auto& [id, named] : ids)
    if (!named.known) unknown.emplace_back(-named.windows, id_text(id.can_id, id.channel));
  std::ranges::stable_sort(unknown, {}, &std::pair<int64_t, std::string>::first);
  std::vector<std::string> texts;
  for (auto& [order, text] : unknown) texts.push_back(std::move(text));
  return reason_text(part, texts);
}

const char* state_name(Incident::State state) {
  switch (state) {
    case Incident::State::open:
      return "open";
    case Incident::State::ongoing:
      return "ongoing";
    default:
      return "closed";
  }
}

void Incidents::add(const WindowResult& result, const StreamDetector& detector) {
  const int64_t time_ns = result.window.time_ns;
  close_before(time_ns);
  if (!result.alarm || !passes()) return;
  const bool has_unknown_ids =
      std::ranges::any_of(detector.node_ids(), [&](MessageKey key) { return !detector.is_known(key); });
  put_alarm(time_ns, result.score, detector, reason_of(result, detector.threshold(), has_unknown_ids));
  name_ids(detector);
  if (options_.interval_ns > 0) return;
  const bool enough = is_enough(time_ns, 1);
  if (!reported_ && enough)
    report(Incident::State::open);
  else if (reported_ && time_ns - reported_ns_ >= kMinute)
    report(Incident::State::ongoing);
}

// Applies the filters before aggregation.
bool Incidents::passes() {
  if (does_exist(options_.block)) {
    drop(counts_.blocked, 1);
    return false;
  }
  if (++sampled_ < options_.every) {
    drop(counts_.sampled_out, 1);
    return false;
  }
  sampled_ = 0;
  return true;
}

void Incidents::drop(std::atomic<int64_t>& count, int64_t alarms) {
  count += alarms;
  filtered_ += alarms;
}

bool Incidents::is_over(int64_t time_ns) const {
  if (options_.interval_ns > 0)
    return time_ns / options_.interval_ns != incident_.start_ns / options_.interval_ns;
  return time_ns - incident_.end_ns > options_.gap_ns || time_ns < incident_.start_ns;
}

// Applies the filter after aggregation: the minimum number of alarms in the interval, or in the incident.
bool Incidents::is_enough(int64_t time_ns, int64_t alarms) {
  const int64_t interval = options_.within_ns > 0 ? time_ns / options_.within_ns : 0;
  if (interval != interval_) in_interval_ = 0;
  interval_ = interval;
  in_interval_ += alarms;
  return in_interval_ >= options_.min_windows;
}

// A silence is one alarm however long it lasts, so the minimum number of alarms does not apply.
void Incidents::add(const Silence& silence, const StreamDetector& detector) {
  close_before(silence.time_ns);
  if (!passes()) return;
  put_alarm(silence.time_ns, silence.score, detector,
            {"silence", silence.score / std::max(detector.threshold(), 1.0F)});
  if (options_.interval_ns == 0 && !reported_) report(Incident::State::open);
}

void Incidents::close_before(int64_t time_ns) {
  if (open_ && is_over(time_ns)) end();
}

void Incidents::put_alarm(int64_t time_ns, float score, const StreamDetector& detector,
                          const AlarmReason& reason) {
  if (!open_) {
    open_ = true;
    reported_ = false;
    if (options_.within_ns == 0) in_interval_ = 0;
    incident_ = {.channel = channel_,
                 .start_ns = time_ns,
                 .worst = score,
                 .threshold = detector.threshold(),
                 .strength = reason.strength,
                 .part = reason.part,
                 .detector = detector.file_hash(),
                 .ids = {}};
  }
  incident_.end_ns = time_ns;
  ++incident_.windows;
  if (score > incident_.worst || std::isnan(score)) incident_.worst = score;
  if (reason.strength > incident_.strength || std::isnan(reason.strength)) {
    incident_.strength = reason.strength;
    incident_.part = reason.part;
  }
}

// Adds the IDs that the detector does not know; if there are none, the ID with the most attention.
void Incidents::name_ids(const StreamDetector& detector) {
  const MessageKeys ids = detector.node_ids();
  const auto name = [&](MessageKey key) {
    const Incident::Id id{static_cast<uint32_t>(key), detector.channel_of(key)};
    if (incident_.ids.size() >= kMaxIds && !incident_.ids.contains(id)) return;
    Incident::Named& named = incident_.ids[id];
    ++named.windows;
    named.known = detector.is_known(key);
  };
  bool unknown = false;
  for (const MessageKey id : ids)
    if (!detector.is_known(id)) {
      name(id);
      unknown = true;
    }
  if (!unknown)
    for (const auto& [index, share] : detector.focus(1).nodes) name(ids[static_cast<size_t>(index)]);
}

void Incidents::end() {
  if (!open_) return;
  open_ = false;
  const bool enough = options_.interval_ns > 0 ? is_enough(incident_.start_ns, incident_.windows) : reported_;
  if (enough)
    report(Incident::State::closed);
  else
    drop(counts_.below_threshold, incident_.windows);
}

void Incidents::report(Incident::State state) {
  if (!reported_) incident_.number = ++number_;
  reported_ = true;
  reported_ns_ = incident_.end_ns;
  incident_.state = state;
  incident_.filtered = std::exchange(filtered_, 0);
  report_(incident_);
}

}  // namespace plimsoll

#include "cli/incidents.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "detect/fusion.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinute = 60'000'000'000;

bool is_there(const std::filesystem::path& path) {
  std::error_code none;
  return !path.empty() && std::filesystem::exists(path, none);
}

std::string worst_part(const Verdict& verdict) {
  if (!verdict.by_part) return "gat";
  const auto part = std::ranges::find(*verdict.by_part, verdict.score) - verdict.by_part->begin();
  return static_cast<size_t>(part) < kFusedParts ? fused_parts()[static_cast<size_t>(part)].name : "";
}

}  // namespace

// A fused score has its threshold at 1; log-odds may have theirs below 0.
const char* Incident::severity() const {
  if (!std::isfinite(worst)) return "critical";
  const float ratio = threshold > 0 ? worst / threshold : 1 + worst - threshold;
  return ratio < 2 ? "low" : ratio < 5 ? "medium" : ratio < 20 ? "high" : "critical";
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

void Incidents::add(const Verdict& verdict, const StreamDetector& detector) {
  const int64_t time_ns = verdict.window.time_ns;
  close_before(time_ns);
  if (!verdict.alarm || !passes()) return;
  put_alarm(time_ns, verdict.score, detector.threshold(), worst_part(verdict));
  name_ids(detector);
  if (options_.interval_ns > 0) return;
  const bool enough = is_enough(time_ns, 1);
  if (!told_ && enough)
    tell(Incident::State::open);
  else if (told_ && time_ns - told_ns_ >= kMinute)
    tell(Incident::State::ongoing);
}

// The filters before aggregation.
bool Incidents::passes() {
  if (is_there(options_.block)) {
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

// The filter after aggregation: alarms of the interval, or of the incident.
bool Incidents::is_enough(int64_t time_ns, int64_t alarms) {
  const int64_t interval = options_.within_ns > 0 ? time_ns / options_.within_ns : 0;
  if (interval != interval_) in_interval_ = 0;
  interval_ = interval;
  in_interval_ += alarms;
  return in_interval_ >= options_.least_windows;
}

// It is one alarm however long it lasts, so that none is waited for.
void Incidents::add(const Silence& silence, float threshold) {
  close_before(silence.time_ns);
  if (!passes()) return;
  put_alarm(silence.time_ns, silence.score, threshold,
            statistic_names()[static_cast<size_t>(Statistic::silence)]);
  if (options_.interval_ns == 0 && !told_) tell(Incident::State::open);
}

void Incidents::close_before(int64_t time_ns) {
  if (open_ && is_over(time_ns)) end();
}

void Incidents::put_alarm(int64_t time_ns, float score, float threshold, const std::string& part) {
  if (!open_) {
    open_ = true;
    told_ = false;
    if (options_.within_ns == 0) in_interval_ = 0;
    incident_ = {.channel = channel_,
                 .start_ns = time_ns,
                 .worst = score,
                 .threshold = threshold,
                 .part = part,
                 .ids = {}};
  }
  incident_.end_ns = time_ns;
  ++incident_.windows;
  if (score > incident_.worst || std::isnan(score)) {
    incident_.worst = score;
    incident_.part = part;
  }
}

// Those that the detector does not know, else the one that attention points at most.
void Incidents::name_ids(const StreamDetector& detector) {
  const MessageKeys ids = detector.node_ids();
  const auto name = [&](MessageKey key) {
    const Incident::Id id{static_cast<uint32_t>(key), detector.channel_of(key)};
    if (incident_.ids.size() < kMostIds || incident_.ids.contains(id)) ++incident_.ids[id];
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
  const bool enough = options_.interval_ns > 0 ? is_enough(incident_.start_ns, incident_.windows) : told_;
  if (enough)
    tell(Incident::State::closed);
  else
    drop(counts_.below_threshold, incident_.windows);
}

void Incidents::tell(Incident::State state) {
  if (!told_) incident_.number = ++number_;
  told_ = true;
  told_ns_ = incident_.end_ns;
  incident_.state = state;
  incident_.filtered = std::exchange(filtered_, 0);
  tell_(incident_);
}

}  // namespace plimsoll

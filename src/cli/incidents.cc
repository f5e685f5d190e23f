#include "cli/incidents.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "detect/fusion.h"
#include "store/frames.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinute = 60'000'000'000;

std::string iso_time(int64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds), time_ns % 1'000'000'000 / 1000);
}

// By how far a fused score, whose line is at 1, or log-odds exceed the threshold.
const char* severity_of(float worst, float threshold) {
  if (!std::isfinite(worst)) return "critical";
  const float ratio = threshold > 0 ? worst / threshold : 1 + worst - threshold;
  return ratio < 2 ? "low" : ratio < 5 ? "medium" : ratio < 20 ? "high" : "critical";
}

std::string worst_part(const Verdict& verdict) {
  if (!verdict.by_part) return "gat";
  const auto part = std::ranges::find(*verdict.by_part, verdict.score) - verdict.by_part->begin();
  return static_cast<size_t>(part) < kFusedParts ? fused_parts()[static_cast<size_t>(part)].name : "";
}

}  // namespace

void Incidents::add(const Verdict& verdict, const StreamDetector& detector) {
  const int64_t time_ns = verdict.window.time_ns;
  if (open_ && (time_ns - end_ns_ > options_.gap_ns || time_ns < start_ns_)) end();
  if (!verdict.alarm) return;
  const bool is_new = !open_;
  if (is_new) {
    open_ = true;
    ++number_;
    start_ns_ = time_ns;
    windows_ = 0;
    worst_ = verdict.score;
    part_ = worst_part(verdict);
    ids_.clear();
  }
  end_ns_ = time_ns;
  ++windows_;
  if (verdict.score > worst_ || std::isnan(verdict.score)) {
    worst_ = verdict.score;
    part_ = worst_part(verdict);
  }
  const std::vector<uint32_t> ids = detector.node_ids();
  const auto name = [&](uint32_t id) {
    if (ids_.size() < kMostIds || ids_.contains(id)) ++ids_[id];
  };
  bool unknown = false;
  for (const uint32_t id : ids)
    if (!detector.is_known(id)) {
      name(id);
      unknown = true;
    }
  if (!unknown)
    for (const auto& [index, share] : detector.focus(1).nodes) name(ids[static_cast<size_t>(index)]);
  if (is_new)
    print("open");
  else if (time_ns - told_ns_ >= kMinute)
    print("ongoing");
}

void Incidents::end() {
  if (!open_) return;
  print("closed");
  open_ = false;
}

std::string Incidents::name_of(uint32_t can_id) const {
  const auto found = options_.names.find(can_id & ~kCanRemote);
  return found == options_.names.end() ? "" : found->second;
}

void Incidents::print(const char* state) {
  told_ns_ = end_ns_;
  std::vector<std::pair<uint32_t, int64_t>> ids(ids_.begin(), ids_.end());
  std::ranges::stable_sort(ids, [](const auto& a, const auto& b) { return a.second > b.second; });
  Json named = Json::array();
  for (const auto& [id, windows] : ids) {
    Json one = {{"id", fmt::format("0x{:0{}X}", id & 0x1FFFFFFF, (id & kCanExtended) != 0 ? 8 : 3)},
                {"windows", windows}};
    if (const std::string name = name_of(id); !name.empty()) one["name"] = name;
    named.push_back(one);
  }
  Json line = {{"event", "incident"},
               {"state", state},
               {"incident", number_},
               {"start", iso_time(start_ns_)},
               {"end", iso_time(end_ns_)},
               {"start_ns", start_ns_},
               {"end_ns", end_ns_},
               {"windows", windows_},
               {"worst_score", std::isfinite(worst_) ? Json(std::stod(fmt::format("{}", worst_))) : Json()},
               {"threshold", std::stod(fmt::format("{}", options_.threshold))},
               {"severity", severity_of(worst_, options_.threshold)},
               {"part", part_},
               {"ids", named},
               {"source", options_.source},
               {"detector", options_.detector}};
  if (!options_.vehicle.empty()) line["vehicle"] = options_.vehicle;
  fmt::print("{}\n", line.dump());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw Failure(fmt::format("standard output: {}; incidents are lost", std::strerror(errno)));
}

}  // namespace plimsoll

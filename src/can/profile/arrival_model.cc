#include "can/profile/arrival_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "can/profile/add_count.h"
#include "can/profile/behaviour_profile.h"
#include "can/profile/gap_bins.h"

namespace plimsoll {
namespace {

constexpr int kGaps = 8;
// Counts of one ID while its frames are read.
struct Counted {
  ArrivalCounts counts;

  // State of the current run.
  int64_t seen = 0;
  std::array<int64_t, kGaps> times{};  // Times of the last frames, as a ring.
  uint64_t payload = 0;

  int64_t span_from(int64_t back, int64_t time_ns) const {
    return GapBins::gap_of(times[static_cast<size_t>((seen - back) % kGaps)], time_ns);
  }
  void add(int64_t part, int64_t time_ns, uint64_t now) {
    const auto put = [&](ArrivalCounts::Spans& spans, int64_t span) {
      ++spans.count;
      int64_t& min = spans.min[static_cast<size_t>(part)];
      min = std::min(min, span);
    };
    ++counts.frames;
    if (seen > 0) {
      counts.changes += now != payload;
      const int64_t gap = span_from(1, time_ns);
      counts.sum_ns += gap;
      put(counts.one, gap);
    }
    if (seen > 1) put(counts.two, span_from(2, time_ns));
    if (seen >= kGaps) put(counts.eight, span_from(kGaps, time_ns));
    times[static_cast<size_t>(seen++ % kGaps)] = time_ns;
    payload = now;
  }
};

}  // namespace

void ArrivalCounts::Spans::add(const Spans& other) {
  add_count(count, other.count);
  std::array<int64_t, 2 * kParts> both;
  std::ranges::merge(min, other.min, both.begin());
  std::copy_n(both.begin(), kParts, min.begin());
}

Arrival::Bound ArrivalCounts::Spans::bound(double margin) const {
  if (min[0] == kNever) return {};
  const int64_t second = min[1] == kNever ? min[0] : min[1];
  const double record = std::log2(static_cast<double>(second) / static_cast<double>(min[0]));
  return {min[0], std::max(margin, record)};
}

void ArrivalCounts::add(const ArrivalCounts& other) {
  add_count(frames, other.frames);
  add_count(changes, other.changes);
  add_count(sum_ns, other.sum_ns);
  one.add(other.one);
  two.add(other.two);
  eight.add(other.eight);
}

Arrival ArrivalCounts::arrival(int64_t traffic_ns) const {
  const double period = static_cast<double>(sum_ns) / static_cast<double>(one.count);
  Arrival id;
  id.still = frames >= ArrivalModel::kMinSpans &&
             static_cast<double>(changes) < ArrivalModel::kStillShare * static_cast<double>(one.count);
  if (two.count >= ArrivalModel::kMinSpans && period <= BehaviourProfile::kLongestPeriod) {
    const auto regular = [&](const Arrival::Bound& bound, int gaps) {
      const bool is = static_cast<double>(bound.min_ns) > BehaviourProfile::kMinRegularity * gaps * period &&
                      bound.min_ns > GapBins::kShortest;
      return is ? bound : Arrival::Bound{};
    };
    const double jitter = std::log2(period / static_cast<double>(one.bound(1).min_ns));
    const double margin =
        std::clamp(ArrivalModel::kRegular * jitter, ArrivalModel::kMinMargin, ArrivalModel::kMargin);
    id.one = regular(one.bound(margin), 1);
    id.two = regular(two.bound(margin), 2);
  }
  if (id.one.min_ns > 0 || id.two.min_ns > 0) return id;
  // Eight gaps of an ID that is seldom sent are expected to last for their share of the traffic, or for all
  // traffic if the ID has fewer gaps.
  if (eight.count >= ArrivalModel::kMinSpans)
    id.eight = eight.bound(ArrivalModel::kBurstMargin);
  else
    id.eight = {std::max(GapBins::kShortest, frames > kGaps ? traffic_ns / frames * kGaps : traffic_ns),
                ArrivalModel::kBurstMargin};
  return id;
}

double Arrival::Bound::excess(int64_t span_ns) const {
  if (span_ns >= min_ns) return 0;
  return std::log2(static_cast<double>(min_ns) / static_cast<double>(span_ns)) / margin;
}

ArrivalSums ArrivalSums::count(const FrameSpans& frames, std::span<const FrameWindow> runs,
                               const Vocabulary& vocabulary) {
  ArrivalSums sums;
  int64_t total = 0;
  for (const FrameWindow& run : runs) {
    if (!run.recording->has_time || run.count == 0) continue;
    total += run.count;
    const FrameSpans part = frames.part(run.first, run.count);
    sums.traffic_ns += GapBins::gap_of(part.time_ns.front(), part.time_ns.back());
  }
  if (total == 0) return sums;
  Vector<Counted, Tag::columns> counted(static_cast<size_t>(vocabulary.size()));
  int64_t position = 0;
  for (const FrameWindow& run : runs) {
    if (!run.recording->has_time) continue;
    for (Counted& id : counted) id.seen = 0;
    const FrameKeys keys = vocabulary.keys(frames, *run.recording);
    for (int64_t f = run.first; f < run.first + run.count; ++f) {
      const int64_t part = position++ * ArrivalCounts::kParts / total;
      const auto at = static_cast<size_t>(f);
      const int32_t id = vocabulary.index(keys[at]);
      if (id == vocabulary.size() || frames.label[at] == 1) continue;
      counted[static_cast<size_t>(id)].add(
          part, frames.time_ns[at], payload_bits(&frames.data[at * static_cast<size_t>(frames.width)]));
    }
  }
  for (Counted& id : counted) {
    for (ArrivalCounts::Spans* spans : {&id.counts.one, &id.counts.two, &id.counts.eight})
      std::ranges::sort(spans->min);
    sums.ids.push_back(id.counts);
  }
  return sums;
}

ArrivalModel::ArrivalModel(const ArrivalSums& sums) {
  for (const ArrivalCounts& id : sums.ids) ids_.push_back(id.arrival(sums.traffic_ns));
}

NamedTensors ArrivalModel::tensors() const {
  if (ids_.empty()) return {};
  Vector<int64_t, Tag::columns> min;
  Vector<double, Tag::columns> margins;
  for (const Arrival& id : ids_) {
    min.insert(min.end(), {id.one.min_ns, id.two.min_ns, id.eight.min_ns, int64_t{id.still}});
    margins.insert(margins.end(), {id.one.margin, id.two.margin, id.eight.margin});
  }
  const auto count = static_cast<int64_t>(ids_.size());
  return {{"profile.arrival_ns", own_tensor<int64_t>(min, {count, 4})},
          {"profile.arrival_margin", own_tensor<double>(margins, {count, 3})}};
}

ArrivalModel ArrivalModel::from_tensors(const NamedTensors& tensors, int32_t ids) {
  ArrivalModel model;
  if (!tensors.contains("profile.arrival_ns")) return model;
  const auto min = values_of<int64_t>(tensors, "profile.arrival_ns", {ids, 4});
  const auto margins = values_of<double>(tensors, "profile.arrival_margin", {ids, 3});
  for (size_t i = 0; i < static_cast<size_t>(ids); ++i) {
    const auto bound = [&](size_t k) { return Arrival::Bound{min[4 * i + k], margins[3 * i + k]}; };
    const Arrival id{bound(0), bound(1), bound(2), min[4 * i + 3] != 0};
    for (const Arrival::Bound& limit : {id.one, id.two, id.eight})
      if (limit.min_ns < 0 || !std::isfinite(limit.margin) || (limit.min_ns > 0 && limit.margin <= 0))
        throw InputError(fmt::format(
            "the model's tensors 'profile.arrival_*' hold an impossible bound in row {}; calibrate it again",
            i));
    model.ids_.push_back(id);
  }
  return model;
}

}  // namespace plimsoll

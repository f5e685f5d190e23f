#include "can/profile/profile_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr size_t kSumsOfGaps = 3;
constexpr size_t kArrivalCounts = 3 + 3 * (1 + ArrivalCounts::kParts);

[[noreturn]] void fail(const char* tensor, size_t row) {
  throw InputError(fmt::format(
      "the model's tensor 'profile.sums.{}' holds an impossible value in row {}; calibrate it again", tensor,
      row));
}

template <typename Take>
void for_each_span(auto& spans, const Take& take) {
  for (const int64_t gaps : {1, 2}) {
    auto& bins = gaps == 1 ? spans.one : spans.two;
    for (size_t bin = 0; bin < bins.size(); ++bin) take(gaps, bin, bins[bin]);
  }
}

// Calls take(number) for each number of an ID's arrivals, in the order of the tensor.
template <typename Take>
void for_each_count(auto& id, const Take& take) {
  for (auto* value : {&id.frames, &id.changes, &id.sum_ns}) take(*value);
  for (auto* spans : {&id.one, &id.two, &id.eight}) {
    take(spans->count);
    for (auto& min : spans->min) take(min);
  }
}

// Reads the counts and the sums of gaps of each ID.
void read_ids(const NamedTensors& tensors, int64_t rows, ProfileSums& all) {
  const auto counts = values_of<int64_t>(tensors, "profile.sums.ids", {rows, BenignId::kCounts});
  const auto gaps = values_of<double>(tensors, "profile.sums.gaps", {rows, kSumsOfGaps});
  all.ids.resize(static_cast<size_t>(rows));
  all.spans.resize(static_cast<size_t>(rows));
  const int64_t* count = counts.data();
  const double* gap = gaps.data();
  for (size_t i = 0; i < all.ids.size(); ++i) {
    all.ids[i] = {};
    all.spans[i] = {};
    BenignId::for_each_count(all.ids[i], [&]<typename T>(T& value) {
      value = static_cast<T>(*count++);
      if (static_cast<int64_t>(value) != count[-1] || (!std::is_same_v<T, uint64_t> && count[-1] < 0))
        fail("ids", i);
    });
    BenignId::for_each_sum(all.ids[i], [&](double& value) {
      value = *gap++;
      if (!std::isfinite(value) || value < 0) fail("gaps", i);
    });
  }
}

// Reads the spans of each ID. Their numbers must match the counts.
void read_spans(const NamedTensors& tensors, int64_t rows, ProfileSums& all) {
  const auto bins = values_of<int64_t>(tensors, "profile.sums.spans", {-1, 4});
  for (size_t at = 0; at + 3 < bins.size(); at += 4) {
    const int64_t* const row = &bins[at];
    const bool possible = row[0] >= 0 && row[0] < rows && (row[1] == 1 || row[1] == 2) && row[2] >= 0 &&
                          row[2] < static_cast<int64_t>(GapBins::kBins) && row[3] > 0 &&
                          row[3] <= std::numeric_limits<uint32_t>::max();
    if (!possible) fail("spans", at / 4);
    BenignId::Spans& spans = all.spans[static_cast<size_t>(row[0])];
    (row[1] == 1 ? spans.one : spans.two)[static_cast<size_t>(row[2])] = static_cast<uint32_t>(row[3]);
  }
  for (size_t i = 0; i < all.ids.size(); ++i)
    if (!all.ids[i].has_spans(all.spans[i])) fail("spans", i);
}

// Reads the arrivals of each ID, if any.
void read_arrivals(const NamedTensors& tensors, ProfileSums& all) {
  const auto arrived = values_of<int64_t>(tensors, "profile.sums.arrivals", {-1, kArrivalCounts});
  const size_t known = arrived.size() / kArrivalCounts;
  if (known != 0 && known != all.ids.size()) fail("arrivals", known);
  const int64_t* next = arrived.data();
  for (size_t i = 0; i < known; ++i) {
    ArrivalCounts& id = all.arrivals.ids.emplace_back();
    for_each_count(id, [&](int64_t& value) {
      value = *next++;
      if (value < 0) fail("arrivals", i);
    });
    for (const auto* spans : {&id.one, &id.two, &id.eight})
      if (!std::ranges::is_sorted(spans->min) || spans->min[0] == 0 ||
          (spans->min[0] == ArrivalCounts::Spans::kNever) != (spans->count == 0))
        fail("arrivals", i);
  }
}

// Reads the regression sums of `signals` signals.
void read_lines(const NamedTensors& tensors, int64_t signals, ProfileSums& all) {
  const auto sums = values_of<double>(tensors, "profile.sums.signals", {signals, SignalLine::kNumbers});
  for (size_t at = 0; at + 5 < sums.size(); at += SignalLine::kNumbers) {
    const auto row = sums.subspan(at, SignalLine::kNumbers);
    if (!std::ranges::all_of(row, [](double value) { return std::isfinite(value); }) || row[0] < 1)
      fail("signals", at / SignalLine::kNumbers);
    all.lines.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  }
}

}  // namespace

NamedTensors ProfileSums::tensors() const {
  const auto rows = std::ssize(ids);
  Vector<int64_t, Tag::columns> counts;
  Vector<double, Tag::columns> gaps;
  Vector<int64_t, Tag::columns> bins;
  Vector<int64_t, Tag::columns> arrived;
  for (size_t i = 0; i < ids.size(); ++i) {
    BenignId::for_each_count(ids[i],
                             [&](const auto& value) { counts.push_back(static_cast<int64_t>(value)); });
    BenignId::for_each_sum(ids[i], [&](double value) { gaps.push_back(value); });
    for_each_span(spans[i], [&](int64_t kind, size_t bin, uint32_t count) {
      if (count > 0)
        bins.insert(bins.end(), {static_cast<int64_t>(i), kind, static_cast<int64_t>(bin), int64_t{count}});
    });
  }
  for (const ArrivalCounts& id : arrivals.ids)
    for_each_count(id, [&](int64_t value) { arrived.push_back(value); });
  Vector<double, Tag::columns> sums;
  for (const SignalLine& line : lines)
    sums.insert(sums.end(),
                {line.pairs, line.first, line.second, line.squares, line.products, line.max_step});
  const auto count = [](const auto& values, auto width) {
    return std::ssize(values) / static_cast<int64_t>(width);
  };
  return {{"profile.sums.traffic", own_tensor<int64_t>(std::array{recordings, arrivals.traffic_ns}, {2})},
          {"profile.sums.ids", own_tensor<int64_t>(counts, {rows, BenignId::kCounts})},
          {"profile.sums.gaps", own_tensor<double>(gaps, {rows, kSumsOfGaps})},
          {"profile.sums.spans", own_tensor<int64_t>(bins, {count(bins, 4), 4})},
          {"profile.sums.arrivals",
           own_tensor<int64_t>(arrived, {count(arrived, kArrivalCounts), kArrivalCounts})},
          {"profile.sums.signals", own_tensor<double>(sums, {std::ssize(lines), SignalLine::kNumbers})}};
}

ProfileSums ProfileSums::from_tensors(const NamedTensors& tensors, const BehaviourProfile& profile) {
  if (!tensors.contains("profile.sums.ids"))
    throw InputError(
        "the model has no sums of its calibration (tensors 'profile.sums.*'): it was calibrated by an "
        "earlier version, or not at all; calibrate it again");
  const int64_t rows = profile.vocabulary().size();
  ProfileSums all;
  const auto traffic = values_of<int64_t>(tensors, "profile.sums.traffic", {2});
  all.recordings = traffic[0];
  all.arrivals.traffic_ns = traffic[1];
  if (traffic[0] < 0 || traffic[1] < 0) fail("traffic", 0);
  read_ids(tensors, rows, all);
  read_spans(tensors, rows, all);
  read_arrivals(tensors, all);
  read_lines(tensors, std::ssize(profile.signals().signals()), all);
  return all;
}

}  // namespace plimsoll

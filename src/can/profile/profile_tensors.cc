#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "can/profile/behaviour_profile.h"
#include "can/profile/gap_bins.h"

// Stores a profile in a model file: columns with one row per ID. All values have 8 bytes, so that each column
// is aligned.

namespace plimsoll {
namespace {

constexpr int64_t kBytes = kPayloadBytes;

// A column of `width` values per row. fill(id, values) writes each row.
template <typename T, typename Fill>
OwnedTensor column(std::span<const BehaviourProfile::Id> ids, int64_t width, const Fill& fill) {
  Vector<T, Tag::columns> values(ids.size() * static_cast<size_t>(width));
  for (size_t i = 0; i < ids.size(); ++i) fill(ids[i], &values[i * static_cast<size_t>(width)]);
  std::vector<int64_t> shape = {static_cast<int64_t>(ids.size())};
  if (width > 1) shape.push_back(width);
  return own_tensor<T>(values, std::move(shape));
}

constexpr int64_t kLongestSpan = GapBins::min_of(GapBins::kBins);

// The columns that tensors() writes, read from a file that may be damaged.
struct Columns {
  const NamedTensors& tensors;
  int64_t ids;

  std::vector<int64_t> shape(int64_t width) const {
    return width > 1 ? std::vector{ids, width} : std::vector{ids};
  }
  std::span<const int64_t> whole(const std::string& name, int64_t max, int64_t width = 1) const {
    const auto values = values_of<int64_t>(tensors, name, shape(width));
    for (const int64_t value : values)
      if (value < 0 || value > max)
        throw InputError(
            fmt::format("the model's tensor '{}' holds {}, expected 0 to {}; train or calibrate it again",
                        name, value, max));
    return values;
  }
  std::span<const double> finite(const std::string& name, int64_t width = 1) const {
    const auto values = values_of<double>(tensors, name, shape(width));
    for (const double value : values)
      if (!std::isfinite(value))
        throw InputError(fmt::format(
            "the model's tensor '{}' holds {}, expected finite numbers; train or calibrate it again", name,
            value));
    return values;
  }
};

}  // namespace

NamedTensors BehaviourProfile::tensors() const {
  const auto known = static_cast<size_t>(vocabulary_.size());
  const std::span<const Id> ids = std::span(ids_).first(known);
  const Vector<int64_t, Tag::columns> can_ids(vocabulary_.ids().keys.begin(), vocabulary_.ids().keys.end());
  const Vector<int64_t, Tag::columns> words(transitions_.begin(), transitions_.end());
  NamedTensors tensors;
  tensors["profile.ids"] = own_tensor<int64_t>(can_ids, {static_cast<int64_t>(known)});
  tensors["profile.has_gaps"] = column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.has_gaps; });
  tensors["profile.gap_mean"] = column<double>(ids, 1, [](const Id& id, double* to) { *to = id.gap_mean; });
  tensors["profile.gap_units"] = column<double>(ids, 1, [](const Id& id, double* to) { *to = id.gap_units; });
  tensors["profile.has_payload"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.has_payload; });
  tensors["profile.length"] = column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.length; });
  tensors["profile.byte_mean"] =
      column<double>(ids, kBytes, [](const Id& id, double* to) { std::ranges::copy(id.byte_mean, to); });
  tensors["profile.byte_units"] =
      column<double>(ids, kBytes, [](const Id& id, double* to) { std::ranges::copy(id.byte_units, to); });
  tensors["profile.least_two_gaps_ns"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.min_two_gaps; });
  tensors["profile.longest_gap_ns"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.longest_gap; });
  tensors["profile.has_expectations"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.has_expectations; });
  tensors["profile.fixed_bits"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = static_cast<int64_t>(id.fixed_bits); });
  tensors["profile.fixed_value"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = static_cast<int64_t>(id.fixed_value); });
  tensors["profile.longest_still"] =
      column<int64_t>(ids, 1, [](const Id& id, int64_t* to) { *to = id.longest_still; });
  tensors["profile.most_change"] =
      column<int64_t>(ids, kBytes, [](const Id& id, int64_t* to) { std::ranges::copy(id.max_change, to); });
  tensors["profile.counter_mask"] =
      column<int64_t>(ids, kBytes, [](const Id& id, int64_t* to) { std::ranges::copy(id.counter_mask, to); });
  tensors["profile.counter_step"] =
      column<int64_t>(ids, kBytes, [](const Id& id, int64_t* to) { std::ranges::copy(id.counter_step, to); });
  tensors.merge(signals_.tensors());
  tensors.merge(pairs_.tensors());
  tensors.merge(checksums_.tensors());
  tensors.merge(arrivals_.tensors());
  tensors.merge(silence_.tensors());
  tensors["profile.transitions"] = own_tensor<int64_t>(words, {static_cast<int64_t>(words.size())});
  return tensors;
}

std::optional<BehaviourProfile> BehaviourProfile::from_tensors(const NamedTensors& tensors,
                                                               std::vector<std::string> channels) {
  if (!tensors.contains("profile.ids")) return std::nullopt;
  BehaviourProfile profile(Vocabulary::from_tensor(tensors, "profile.ids", std::move(channels)));
  const int64_t known = profile.vocabulary_.size();
  const Columns columns{tensors, known};
  const auto has_gaps = columns.whole("profile.has_gaps", 1);
  const auto gap_mean = columns.finite("profile.gap_mean");
  const auto gap_units = columns.finite("profile.gap_units");
  const auto has_payload = columns.whole("profile.has_payload", 1);
  const auto length = columns.whole("profile.length", kMaxPayload);
  const auto byte_mean = columns.finite("profile.byte_mean", kBytes);
  const auto byte_units = columns.finite("profile.byte_units", kBytes);
  const auto min_two = columns.whole("profile.least_two_gaps_ns", kLongestSpan);
  const auto longest = columns.whole("profile.longest_gap_ns", kLongestSpan);
  const auto has_expectations = columns.whole("profile.has_expectations", 1);
  const auto fixed_bits = values_of<int64_t>(tensors, "profile.fixed_bits", {known});
  const auto fixed_value = values_of<int64_t>(tensors, "profile.fixed_value", {known});
  const auto longest_still = columns.whole("profile.longest_still", kStandsStill);
  const auto max_change = columns.whole("profile.most_change", 255, kBytes);
  const auto counter_mask = columns.whole("profile.counter_mask", 255, kBytes);
  const auto counter_step = columns.whole("profile.counter_step", 255, kBytes);
  const auto bytes_of = [](const auto& values, size_t i, std::array<uint8_t, kPayloadBytes>& to) {
    for (size_t k = 0; k < kPayloadBytes; ++k) to[k] = static_cast<uint8_t>(values[i * kPayloadBytes + k]);
  };
  for (size_t i = 0; i < static_cast<size_t>(known); ++i) {
    Id& id = profile.ids_[i];
    id.has_gaps = has_gaps[i] != 0;
    id.gap_mean = gap_mean[i];
    id.gap_units = gap_units[i];
    id.has_payload = has_payload[i] != 0;
    id.length = static_cast<uint8_t>(length[i]);
    std::copy_n(&byte_mean[i * kPayloadBytes], kPayloadBytes, id.byte_mean.begin());
    std::copy_n(&byte_units[i * kPayloadBytes], kPayloadBytes, id.byte_units.begin());
    id.min_two_gaps = min_two[i];
    id.longest_gap = longest[i];
    id.has_expectations = has_expectations[i] != 0;
    id.fixed_bits = static_cast<uint64_t>(fixed_bits[i]);
    id.fixed_value = static_cast<uint64_t>(fixed_value[i]);
    id.longest_still = static_cast<int32_t>(longest_still[i]);
    bytes_of(max_change, i, id.max_change);
    bytes_of(counter_mask, i, id.counter_mask);
    bytes_of(counter_step, i, id.counter_step);
  }
  profile.find_expected();
  const auto words = static_cast<int64_t>(profile.transitions_.size());
  const auto transitions = values_of<int64_t>(tensors, "profile.transitions", {words});
  std::ranges::copy(transitions, profile.transitions_.begin());
  profile.signals_ = SignalModel::from_tensors(tensors, profile.vocabulary_.size());
  profile.pairs_ = SignalPairs::from_tensors(tensors, profile.vocabulary_.size());
  profile.checksums_ = ChecksumModel::from_tensors(tensors, profile.vocabulary_.size());
  profile.arrivals_ = ArrivalModel::from_tensors(tensors, profile.vocabulary_.size());
  profile.silence_ = BusSilence::from_tensors(tensors);
  return profile;
}

}  // namespace plimsoll

#include "can/detector/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<double, 2> kRates = {0.01, 0.001};

// Indexed by Statistic. Smaller deviations are within the resolution of a window or of a clock
// (docs/detection.md#statistics).
constexpr std::array<float, kStatistics> kMinScales = {
    0.009F,  // unknown: one frame in a window of 100.
    1.05F,   // early: doublings. One frame between two others, which may be in the previous window, gives 1.
    0.015F,  // early_share: two frames.
    0.009F,  // surplus: one frame in a window of 100.
    0.5F,    // silence: doublings.
    0.3F,    // load: doublings.
    11.0F,   // still: doublings, more than a look-back can contain, because cars stop. The part ranks windows
             // but raises no alarm.
    4.0F,    // transitions: more than the maximum, because another drive may order its messages differently.
             // The part ranks windows but raises no alarm.
    5.0F,    // steps: doublings. At 4, a benign drive of set_01 has two false alarms in 1,508 windows.
    1.0F,    // extra: margins.
    0.5F,    // checksum: one frame, because CAN does not deliver damaged frames.
    6.0F,    // apart: doublings. At 5, benign drives of set_01 have three false alarms.
    4.0F,    // held: doublings. The part ranks windows but raises no alarm.
    4.0F,    // restless: doublings. At 3, benign windows of set_03 and of a ship are false alarms.
};

constexpr size_t kGat = FusedRows::kGat;
constexpr auto kEarlyPart = static_cast<size_t>(Statistic::early);
constexpr auto kEarlySharePart = static_cast<size_t>(Statistic::early_share);
constexpr auto kExtraPart = static_cast<size_t>(Statistic::extra);
// Parts with a separate level for each ID, signal or pair, learned from all benign traffic. Levels learned
// from windows that are compared with a profile of half of the traffic would be too high for all IDs, signals
// or pairs.
constexpr std::array kOwnLevels = {kExtraPart, static_cast<size_t>(Statistic::checksum),
                                   static_cast<size_t>(Statistic::apart)};
// This part also raises an alarm at its own level. Below that level it only ranks windows. Its levels for
// ranking are learned from windows that are compared with half of the benign traffic, and its units are
// kRestlessRank times greater; otherwise benign windows of the V40 would rank above attacked ones.
constexpr auto kRestlessPart = static_cast<size_t>(Statistic::restless);
constexpr double kRestlessRank = 3;
// A frame that comes too soon was sent by an attacker, or by a sender that had a reason to send at once. If
// the classifier's score of the window is not above the scores of benign windows, such a sender is assumed.
constexpr double kSupport = 0.5;
// Maximum value of a part that ranks windows but raises no alarm.
constexpr double kBelowTheLine = 0.99;

// The value that this share of the values exceeds.
template <typename T>
double value_beyond(const Vector<T, Tag::columns>& sorted, double share) {
  const auto above = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[sorted.size() - 1 - above];
}

// The values of a part, ascending; empty if the part was not requested. Errors: InputError if only some
// values are numbers.
Vector<float, Tag::columns> sorted_values(const FusedRows& rows, size_t part) {
  Vector<float, Tag::columns> values;
  int64_t absent = 0;
  for (int64_t w = 0; w < rows.size(); ++w) {
    const float value = rows.row(w)[part];
    absent += std::isnan(value);
    if (std::isfinite(value)) values.push_back(value);
  }
  if (absent < rows.size() && std::ssize(values) < rows.size())
    throw InputError(
        fmt::format("'{}' of {} of {} benign windows is not a finite number: the training of the model "
                    "diverged; "
                    "train it again with a lower learning rate",
                    fused_parts()[part].name, rows.size() - std::ssize(values), rows.size()));
  std::ranges::sort(values);
  return values;
}

// The value of each part. Files of earlier versions lack up to six parts, from `restless` back to `steps`,
// which are then ignored.
std::array<double, kFusedParts> parts_of(const NamedTensors& tensors, const std::string& name) {
  const auto values = values_of<double>(tensors, name, {-1});
  std::array<double, kFusedParts> parts;
  parts.fill(kNaN);
  if (values.size() < kFusedParts && values.size() + 6 >= kFusedParts) {
    const size_t missing = kFusedParts - values.size();
    std::ranges::copy(values.first(kStatistics - missing), parts.begin());
    std::ranges::copy(values.subspan(kStatistics - missing), parts.begin() + kStatistics);
    return parts;
  }
  const auto whole = values_of<double>(tensors, name, {static_cast<int64_t>(kFusedParts)});
  std::ranges::copy(whole, parts.begin());
  return parts;
}

}  // namespace

const std::array<FusedPart, kFusedParts>& fused_parts() {
  static const std::array<FusedPart, kFusedParts> all = [] {
    std::array<FusedPart, kFusedParts> parts;
    for (size_t s = 0; s < kStatistics; ++s) parts[s] = {statistic_names()[s], kMinScales[s]};
    parts[kGat] = {"gat", 1};
    parts[kGat + 1] = {"vgae", 0.01F};
    return parts;
  }();
  return all;
}

int64_t FusedRows::bytes(int64_t windows) {
  return windows * static_cast<int64_t>(kFusedParts * sizeof(float));
}

int64_t FusedRows::size() const {
  return std::ssize(values) / static_cast<int64_t>(kFusedParts);
}

std::span<const float> FusedRows::row(int64_t window) const {
  return std::span(values).subspan(static_cast<size_t>(window) * kFusedParts, kFusedParts);
}

std::span<float> FusedRows::row(int64_t window) {
  return std::span(values).subspan(static_cast<size_t>(window) * kFusedParts, kFusedParts);
}

void FusedRows::add(std::span<const float> parts) {
  values.insert(values.end(), parts.begin(), parts.end());
}

void FusedRows::add_empty(int64_t windows) {
  values.resize(values.size() + static_cast<size_t>(windows) * kFusedParts,
                std::numeric_limits<float>::quiet_NaN());
}

NamedTensors FusedRows::tensors() const {
  return {{"fusion.rows", own_tensor<float>(values, {size(), static_cast<int64_t>(kFusedParts)})}};
}

FusedRows FusedRows::from_tensors(const NamedTensors& tensors) {
  const auto rows = values_of<float>(tensors, "fusion.rows", {-1, static_cast<int64_t>(kFusedParts)});
  return {{rows.begin(), rows.end()}};
}

Fusion Fusion::learn(const FusedRows& benign, const std::vector<std::string>& without, Timing timing) {
  if (benign.size() == 0)
    throw InputError(
        "there is no benign window to learn the levels of a fused score from; give benign traffic");
  const auto& parts = fused_parts();
  Fusion fusion;
  fusion.edges_.fill(kNaN);
  fusion.units_.fill(kNaN);
  for (size_t p = 0; p < kFusedParts; ++p) {
    if (std::ranges::find(without, parts[p].name) != without.end()) continue;
    if (timing == Timing::by_id && (p == kEarlyPart || p == kEarlySharePart)) continue;
    const auto values = sorted_values(benign, p);
    if (values.empty()) continue;
    const double edge = value_beyond(values, kBeyondEdge);
    fusion.units_[p] = std::max<double>(parts[p].min_scale, edge - value_beyond(values, 0.5));
    if (p == kRestlessPart) fusion.units_[p] *= kRestlessRank;
    fusion.edges_[p] = std::max(0.0, edge);
    if (p == kGat && timing == Timing::supported) fusion.support_ = edge;
  }
  for (const size_t part : kOwnLevels) {
    if (std::isnan(fusion.edges_[part])) continue;
    fusion.edges_[part] = 0;
    fusion.units_[part] = parts[part].min_scale;
  }
  Vector<double, Tag::columns> excesses;
  excesses.reserve(static_cast<size_t>(benign.size()));
  for (int64_t w = 0; w < benign.size(); ++w) {
    std::array<float, kFusedParts> row;
    std::ranges::copy(benign.row(w), row.begin());
    for (const size_t part : kOwnLevels) row[part] = std::min(row[part], 0.0F);
    row[kRestlessPart] = std::min(row[kRestlessPart], 0.0F);
    excesses.push_back(fusion.excess(row));
  }
  std::ranges::sort(excesses);
  fusion.gat_ranks_ = fusion.is_by_id();
  const auto level_at = [&](double rate) { return std::max(1.0, value_beyond(excesses, rate)); };
  fusion.scale_ = level_at(kRates.back());
  for (const double rate : kRates) {
    const auto level = static_cast<float>(level_at(rate) / fusion.scale_);
    int64_t above = 0;
    for (int64_t w = 0; w < benign.size(); ++w) above += fusion.score(benign.row(w)) > level;
    fusion.lines_.push_back({rate, static_cast<double>(above) / static_cast<double>(benign.size()), level});
  }
  return fusion;
}

// False without statistics, because the classifier then raises alarms alone.
bool Fusion::is_by_id() const {
  const auto counts = [](double edge) { return !std::isnan(edge); };
  return std::isnan(support_) && std::ranges::any_of(std::span(edges_).first(kStatistics), counts);
}

Fusion::Parts Fusion::excesses(std::span<const float> parts) const {
  Parts excesses;
  for (size_t p = 0; p < kFusedParts; ++p) excesses[p] = (parts[p] - edges_[p]) / units_[p];
  const double support = (parts[kGat] - support_) / units_[kGat] + kSupport;
  for (const size_t part : {kEarlyPart, kEarlySharePart}) {
    double& timing = excesses[part];
    if (support < timing) timing = support;  // The condition is false if there is no gat part (NaN).
  }
  // Below the alarm level, benign signals step as much as attacked ones. If these parts ranked windows,
  // benign windows would rank above windows that other parts rank.
  for (const Statistic part : {Statistic::steps, Statistic::apart}) {
    double& excess = excesses[static_cast<size_t>(part)];
    if (excess <= 1) excess = std::min(excess, 0.0);
  }
  for (const size_t part : kOwnLevels)
    excesses[part] *= scale_;  // These parts do not depend on the scale of the others.
  const double restless = parts[kRestlessPart] / kMinScales[kRestlessPart];
  if (restless > 1 && !std::isnan(edges_[kRestlessPart])) excesses[kRestlessPart] = restless * scale_;
  double& held = excesses[static_cast<size_t>(Statistic::held)];
  held = std::min(held, kBelowTheLine);
  if (gat_ranks_) excesses[kGat] = std::min(excesses[kGat], kBelowTheLine * scale_);
  return excesses;
}

double Fusion::excess(std::span<const float> parts) const {
  const Parts all = excesses(parts);
  double worst = kNaN;
  for (size_t p = 0; p < all.size(); ++p) {
    if (std::isnan(edges_[p])) continue;
    if (std::isnan(all[p])) return kNaN;  // The model diverged; NaN must not pass for benign.
    if (!(all[p] <= worst)) worst = all[p];
  }
  return worst;
}

float Fusion::score(std::span<const float> parts) const {
  return static_cast<float>(excess(parts) / scale_);
}

std::array<float, kFusedParts> Fusion::scores_by_part(std::span<const float> parts) const {
  std::array<float, kFusedParts> scores;
  std::ranges::transform(excesses(parts), scores.begin(),
                         [&](double excess) { return static_cast<float>(excess / scale_); });
  return scores;
}

NamedTensors Fusion::tensors() const {
  const auto count = static_cast<int64_t>(kFusedParts);
  std::vector<double> lines;
  for (const Line& line : lines_)
    lines.insert(lines.end(), {line.target_rate, line.realised_rate, static_cast<double>(line.level)});
  return {{"fusion.edge", own_tensor<double>(edges_, {count})},
          {"fusion.unit", own_tensor<double>(units_, {count})},
          {"fusion.lines", own_tensor<double>(lines, {static_cast<int64_t>(lines_.size()), 3})},
          {"fusion.support", own_tensor<double>(std::array{support_}, {1})},
          {"fusion.scale", own_tensor<double>(std::array{scale_}, {1})}};
}

std::optional<Fusion> Fusion::from_tensors(const NamedTensors& tensors) {
  if (!tensors.contains("fusion.edge")) return std::nullopt;
  Fusion fusion;
  const auto edges = parts_of(tensors, "fusion.edge");
  const auto units = parts_of(tensors, "fusion.unit");
  const auto lines = values_of<double>(tensors, "fusion.lines", {-1, 3});
  fusion.edges_ = edges;
  fusion.units_ = units;
  fusion.support_ = values_of<double>(tensors, "fusion.support", {1}).front();
  fusion.gat_ranks_ = fusion.is_by_id();
  fusion.scale_ = values_of<double>(tensors, "fusion.scale", {1}).front();
  for (size_t i = 0; i + 2 < lines.size(); i += 3)
    fusion.lines_.push_back({lines[i], lines[i + 1], static_cast<float>(lines[i + 2])});
  bool possible = !std::isinf(fusion.support_) && fusion.scale_ >= 1 && std::isfinite(fusion.scale_) &&
                  !fusion.lines_.empty();
  for (size_t p = 0; p < fusion.edges_.size(); ++p) {
    const double edge = fusion.edges_[p];
    const double unit = fusion.units_[p];
    possible = possible && (std::isnan(edge) || (std::isfinite(edge) && std::isfinite(unit) && unit > 0));
  }
  for (const Line& line : fusion.lines_)
    possible = possible && line.target_rate > 0 && line.target_rate < 1 && line.realised_rate >= 0 &&
               line.realised_rate <= 1 && std::isfinite(line.level);
  if (!possible)
    throw InputError("tensors 'fusion.*' hold impossible values; calibrate or train the model again");
  return fusion;
}

}  // namespace plimsoll

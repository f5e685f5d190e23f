#include "can/tasks/fused_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "can/windows/calibration.h"

namespace plimsoll {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The graphs of an ascending list that belong to one recording.
std::span<const int64_t> of_recording(std::span<const int64_t> graphs, const GraphRange& recording) {
  const auto first = std::ranges::lower_bound(graphs, recording.first_graph);
  const auto end = std::lower_bound(first, graphs.end(), recording.first_graph + recording.graphs);
  return {first, end};
}

// The windows from which the other fold's profiles are learned.
EvaluatedList learned_in(const WindowData& data, CalibrationFold fold) {
  EvaluatedList list{"calibration", {}, {}};
  for (const GraphRange& recording : data.source().tables().recordings) {
    const auto windows = of_recording(data.windows().calibration(), recording);
    const auto half = learned_in_fold(windows, fold, data.calibration_gap());
    list.graphs.insert(list.graphs.end(), half.begin(), half.end());
  }
  return list;
}

void put_statistics(const WindowData& data, std::span<const int64_t> graphs,
                    Vector<float, Tag::columns>& by_graph, bool own_profile, FrameScorers scorers) {
  const auto put = [&](int64_t place, const ProfileStatistics& statistics) {
    std::ranges::copy(statistics,
                      by_graph.begin() + graphs[static_cast<size_t>(place)] * std::ssize(statistics));
  };
  read_statistics(data.windows(), graphs, own_profile, put, std::move(scorers));
}

// The calibration windows of a recording that are compared with a profile of the other half, ascending.
Vector<int64_t, Tag::columns> compared_windows(const WindowData& data, const GraphRange& recording) {
  const auto windows = of_recording(data.windows().calibration(), recording);
  const int64_t gap = data.calibration_gap();
  const auto first = learned_in_fold(windows, CalibrationFold::first_half, gap);
  const auto second = learned_in_fold(windows, CalibrationFold::second_half, gap);
  if (first.empty() || second.empty())
    throw InputError(
        fmt::format("{}: {}/{} begins with {} windows to calibrate on, out of {}, expected at least {} "
                    "without attacks; leave the recording out of the data, or evaluate with --calibrate 0",
                    data.frames().set().folder().string(), recording.split, recording.name, windows.size(),
                    recording.graphs, 2 + 2 * gap));
  Vector<int64_t, Tag::columns> both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

}  // namespace

void read_statistics(const WindowSource& windows, std::span<const int64_t> graphs, bool own_profile,
                     const std::function<void(int64_t, const ProfileStatistics&)>& take,
                     FrameScorers scorers) {
  constexpr size_t kChunk = 64;
  GraphBlock block;
  for (size_t first = 0; first < graphs.size(); first += kChunk) {
    const auto chunk = graphs.subspan(first, std::min(kChunk, graphs.size() - first));
    windows.read(chunk, block);
    const auto frames = windows.frame_statistics(chunk, scorers);
    for (int64_t g = 0; g < std::ssize(chunk); ++g)
      take(static_cast<int64_t>(first) + g,
           profile_statistics(block, g, frames[static_cast<size_t>(g)], own_profile));
  }
}

CalibrationFolds::CalibrationFolds(const std::filesystem::path& data, const Recipe& recipe,
                                   const TrainedContext& known)
    : first(data, recipe, {.known = known, .fold = CalibrationFold::first_half}),
      second(data, recipe, {.known = known, .fold = CalibrationFold::second_half}),
      by_first(learned_in(first, CalibrationFold::second_half)),
      by_second(learned_in(second, CalibrationFold::first_half)) {}

FusedScores::FusedScores(const WindowData& data, const CalibrationFolds* folds,
                         std::span<const EvaluatedList> lists)
    : data_(data),
      folds_(folds),
      lists_(lists),
      evaluated_(static_cast<size_t>(data.source().graphs()) * kStatistics, kNaN) {
  for (const EvaluatedList& list : lists) put_statistics(data, list.graphs, evaluated_, folds != nullptr, {});
  if (folds == nullptr) return;
  calibration_.assign(evaluated_.size(), kNaN);
  put_statistics(folds->first, folds->by_first.graphs, calibration_, true, {.benign_only = true});
  put_statistics(folds->second, folds->by_second.graphs, calibration_, true, {.benign_only = true});
}

int64_t FusedScores::bytes(const WindowSource& windows, int64_t longest, bool calibrated) {
  const auto statistics = windows.graphs() * static_cast<int64_t>(sizeof(ProfileStatistics));
  return (calibrated ? 2 : 1) * statistics + FusedRows::bytes(longest) + windows.scorer_bytes();
}

FusedRows FusedScores::rows(const Statistics& statistics, std::span<const int64_t> graphs,
                            std::span<const ModelScores> models, bool calibration) const {
  const auto& parts = fused_parts();
  FusedRows rows;
  rows.values.reserve(graphs.size() * parts.size());
  std::vector<float> row(parts.size());
  for (const int64_t graph : graphs) {
    std::ranges::fill(row, kNaN);
    std::copy_n(statistics.begin() + graph * static_cast<int64_t>(kStatistics), kStatistics, row.begin());
    for (const ModelScores& model : models) {
      const auto place = std::ranges::find(parts, model.part, &FusedPart::name) - parts.begin();
      const auto scores = calibration ? model.calibration : model.evaluated;
      row[static_cast<size_t>(place)] = scores[static_cast<size_t>(graph)];
    }
    rows.add(row);
  }
  return rows;
}

DetectorScores FusedScores::empty(std::string name, int64_t seed) const {
  DetectorScores scores{std::move(name), seed, {}, {}, false};
  scores.scores.assign(static_cast<size_t>(data_.source().graphs()), kNaN);
  return scores;
}

void FusedScores::score(DetectorScores& into, std::span<const int64_t> graphs,
                        std::span<const ModelScores> models, const Fusion& fusion) const {
  const FusedRows evaluated = rows(evaluated_, graphs, models, false);
  for (size_t i = 0; i < graphs.size(); ++i)
    into.scores[static_cast<size_t>(graphs[i])] = fusion.score(evaluated.row(static_cast<int64_t>(i)));
}

DetectorScores FusedScores::calibrated(std::string name, int64_t seed, std::span<const ModelScores> models,
                                       const std::vector<std::string>& without) const {
  DetectorScores scores = empty(std::move(name), seed);
  // Only `extra` looks ahead (can/score/extra_frames.h).
  scores.looks_ahead = std::ranges::find(without, "extra") == without.end();
  double above = 0;
  double windows = 0;
  double rate = 0;
  for (const GraphRange& recording : data_.source().tables().recordings) {
    const bool is_requested = std::ranges::any_of(
        lists_, [&](const EvaluatedList& list) { return !of_recording(list.graphs, recording).empty(); });
    if (!is_requested) continue;
    const FusedRows benign = rows(calibration_, compared_windows(data_, recording), models, true);
    const Fusion fusion = Fusion::learn(benign, without, Fusion::Timing::by_id);
    const Fusion::Line& line = fusion.lines().back();
    rate = line.target_rate;
    above += line.realised_rate * static_cast<double>(benign.size());
    windows += static_cast<double>(benign.size());
    for (const EvaluatedList& list : lists_)
      score(scores, of_recording(list.graphs, recording), models, fusion);
  }
  scores.thresholds = {{rate, windows > 0 ? above / windows : 0, 1.0F}};
  return scores;
}

DetectorScores FusedScores::trained(std::string name, int64_t seed, std::span<const ModelScores> models,
                                    const Fusion& fusion) const {
  DetectorScores scores = empty(std::move(name), seed);
  for (const EvaluatedList& list : lists_) score(scores, list.graphs, models, fusion);
  for (const Fusion::Line& line : fusion.lines())
    scores.thresholds.push_back({line.target_rate, line.realised_rate, line.level});
  return scores;
}

}  // namespace plimsoll

#include "can/score/profile_statistics.h"

#include <algorithm>

#include "can/profile/unknown_ids.h"
#include "can/score/behaviour_columns.h"

namespace plimsoll {

using namespace behaviour;  // NOLINT(google-build-using-namespace): the columns, by name

const std::array<std::string, kStatistics>& statistic_names() {
  static const std::array<std::string, kStatistics> names = {
      "unknown",     "early", "early_share", "surplus",  "silence", "load", "still",
      "transitions", "steps", "extra",       "checksum", "apart",   "held", "restless"};
  return names;
}

ProfileStatistics profile_statistics(const GraphBlock& block, int64_t graph, const FrameStatistics& by_frames,
                                     bool own_profile) {
  const auto g = static_cast<size_t>(graph);
  const int64_t first = block.node_ptr[g];
  const auto row = [&](int64_t node) { return block.x.data() + static_cast<size_t>(node) * kNodeColumns; };
  ProfileStatistics statistics{};
  const auto at = [&](Statistic statistic) -> float& { return statistics[static_cast<size_t>(statistic)]; };
  int64_t nodes = 0;
  int64_t unknown = 0;
  for (int64_t n = first; n < block.node_ptr[g + 1]; ++n) {
    const float* x = row(n);
    const float frames = x[kCountShare];
    if (frames == 0) {  // The ID is overdue.
      at(Statistic::silence) = std::max(at(Statistic::silence), x[kSilence]);
      continue;
    }
    ++nodes;
    if (x[kKnown] == 0) {
      ++unknown;
      at(Statistic::unknown) += frames;
    }
    at(Statistic::early) = std::max(at(Statistic::early), x[kEarly]);
    at(Statistic::early_share) += x[kEarlyShare] * frames;
    at(Statistic::surplus) += x[kSurplus] * frames;
    at(Statistic::silence) = std::max(at(Statistic::silence), x[kSilence]);
    at(Statistic::still) = std::max(at(Statistic::still), x[kStill]);
  }
  for (int64_t e = block.edge_ptr[g]; e < block.edge_ptr[g + 1]; ++e) {
    const float* x = block.edge_attr.data() + static_cast<size_t>(e) * kEdgeColumns;
    const int32_t* ends = block.edges.data() + 2 * e;
    if (x[kKnownTransition] != 0 || row(first + ends[0])[kKnown] == 0 || row(first + ends[1])[kKnown] == 0)
      continue;
    at(Statistic::transitions) += x[kEdgeCountShare];
  }
  at(Statistic::early) *= static_cast<float>(kMaxUnits);
  at(Statistic::silence) *= static_cast<float>(kMaxUnits);
  at(Statistic::still) *= static_cast<float>(kMaxUnits);
  if (by_frames.silence) at(Statistic::silence) = *by_frames.silence;
  if (!own_profile && is_another_vehicle(nodes, unknown)) return {};
  at(Statistic::steps) = by_frames.steps;
  at(Statistic::extra) = by_frames.extra;
  at(Statistic::checksum) = by_frames.checksum;
  at(Statistic::apart) = by_frames.apart;
  at(Statistic::held) = by_frames.held;
  at(Statistic::restless) = by_frames.restless;
  // A window of one frame, or of frames without times, has no gap.
  if (nodes > 0 && row(first)[kWindowGap] > 0)
    at(Statistic::load) = static_cast<float>(kDoublings) * (1 - row(first)[kWindowGap]);
  return statistics;
}

}  // namespace plimsoll

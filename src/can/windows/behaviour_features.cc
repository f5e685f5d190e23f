// The columns of behaviour graphs; docs/behaviour-features.md has their formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "can/score/behaviour_columns.h"
#include "can/windows/behaviour_graph.h"

namespace plimsoll {
namespace {

using namespace behaviour;  // NOLINT(google-build-using-namespace): the columns, by name

static_assert(kNodeColumns == BehaviourGraph::kNodeFeatures);
static_assert(kEdgeColumns == BehaviourGraph::kEdgeFeatures);

size_t place(int64_t index) {
  return static_cast<size_t>(index);
}

// Returns 0 if `whole` is 0.
double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

double bounded(double units) {
  return std::clamp(units, -kMaxUnits, kMaxUnits) / kMaxUnits;
}

// Doublings between two spans of time given as scaled_log.
double doublings(double from, double to) {
  return bounded((to - from) * kDoublings);
}

// Doublings by which one span of time is longer than another; 0 if it is not.
double excess(int64_t longer, int64_t than) {
  if (longer <= than) return 0;
  return bounded(std::log2(static_cast<double>(longer) / static_cast<double>(std::max<int64_t>(than, 1))));
}

// Smoothed frequency of an occurrence in `frames` frames; adding half an occurrence keeps its logarithm
// finite.
double rate(int64_t count, int64_t frames) {
  return (static_cast<double>(count) + 0.5) / (static_cast<double>(frames) + 1.0);
}

void put(float* row, size_t column, double value) {
  row[column] = static_cast<float>(value);
}

}  // namespace

struct BehaviourGraph::Load {
  int64_t start = 0;
  uint64_t span = 0;  // From the first frame to the latest.
  double gap = 0;     // Mean gap from frame to frame, scaled.
  double change = 0;  // Change against the look-back.
};

std::vector<std::string> BehaviourGraph::node_feature_names() {
  std::vector<std::string> names = {"id_index",
                                    "known",
                                    "extended",
                                    "count_share",
                                    "count_change",
                                    "seen_before",
                                    "gap_mean",
                                    "gap_min",
                                    "gap_max",
                                    "gap_spread",
                                    "gap_change",
                                    "gap_mean_deviation",
                                    "gap_min_deviation",
                                    "gap_max_deviation",
                                    "length",
                                    "length_change",
                                    "length_unusual",
                                    "empty_share",
                                    "ones_share",
                                    "changed_bits",
                                    "same_payload"};
  for (const char* kind : {"byte_change_", "byte_deviation_"})
    for (int64_t k = 0; k < kPayloadBytes; ++k) names.push_back(kind + std::to_string(k));
  for (const char* name :
       {"first_position", "last_position", "first_time", "last_time", "in_degree", "out_degree",
        "repeat_share", "window_gap", "window_gap_change", "window_nodes", "early", "early_share", "surplus",
        "silence", "fixed_bits", "jumps", "counter_broken", "still"})
    names.emplace_back(name);
  return names;
}

std::vector<std::string> BehaviourGraph::edge_feature_names() {
  return {"count_share", "source_share",   "target_share",  "known_transition", "gap_mean",   "gap_min",
          "gap_max",     "first_position", "last_position", "position_gap",     "has_reverse"};
}

std::vector<std::string> BehaviourGraph::known_id_feature_names() {
  std::vector<std::string> names = {"known",
                                    "gap_mean_deviation",
                                    "gap_min_deviation",
                                    "gap_max_deviation",
                                    "length_unusual",
                                    "known_transition",
                                    "early",
                                    "early_share",
                                    "surplus",
                                    "silence",
                                    "fixed_bits",
                                    "jumps",
                                    "counter_broken",
                                    "still"};
  for (int byte = 0; byte < kPayloadBytes; ++byte) names.push_back(fmt::format("byte_deviation_{}", byte));
  return names;
}

BehaviourGraph::Load BehaviourGraph::bus_load(const FrameWindow& window) const {
  Load load;
  if (!window.recording->has_time || window.count == 0) return load;
  const auto times = frames_.time_ns.subspan(place(window.first), place(window.count));
  load.start = times.front();
  load.span = gap_ns(load.start, *std::max_element(times.begin(), times.end()));
  if (window.count > 1)
    load.gap = scaled_log(static_cast<double>(load.span) / static_cast<double>(window.count - 1));
  if (window.count > 1 && looked_back_ > 0) {
    const int64_t start = frames_.time_ns[place(window.first - looked_back_)];
    load.change = doublings(
        scaled_log(static_cast<double>(gap_ns(start, load.start)) / static_cast<double>(looked_back_)),
        load.gap);
  }
  return load;
}

void BehaviourGraph::write_counts(const Node& node, const FrameWindow& window, float* row) const {
  const auto nodes = static_cast<int64_t>(nodes_.size());
  put(row, kIdIndex, node.index);
  put(row, kKnown, profile_->is_known(node.index, node.key));
  put(row, kExtended, (node.key & kCanExtended) != 0);
  put(row, kCountShare, share(node.count, window.count));
  if (looked_back_ > 0)
    put(row, kCountChange,
        bounded(std::log2(rate(node.count, window.count) / rate(node.before, looked_back_))));
  put(row, kSeenBefore, node.before > 0);
  put(row, kInDegree, share(node.in, nodes));
  put(row, kOutDegree, share(node.out, nodes));
  put(row, kRepeatShare, share(node.repeats, node.count));
}

void BehaviourGraph::write_gaps(const Node& node, float* row) const {
  if (node.gaps == 0) return;
  const BehaviourProfile::Id& profile = profile_->id(node.index);
  const auto count = static_cast<double>(node.gaps);
  const double mean = node.gap_sum / count;
  put(row, kGapMean, mean);
  put(row, kGapMin, node.gap_min);
  put(row, kGapMax, node.gap_max);
  put(row, kGapSpread, std::sqrt(std::max(node.gap_squares / count - mean * mean, 0.0)));
  if (node.before > 1) put(row, kGapChange, doublings(node.gap_before, mean));
  if (!profile.has_gaps) return;
  const auto deviation = [&](double gap) { return bounded((gap - profile.gap_mean) * profile.gap_units); };
  put(row, kGapMeanDeviation, deviation(mean));
  put(row, kGapMinDeviation, deviation(node.gap_min));
  put(row, kGapMaxDeviation, deviation(node.gap_max));
}

void BehaviourGraph::write_payload(const Node& node, float* row) const {
  const BehaviourProfile::Id& profile = profile_->id(node.index);
  put(row, kLength, std::sqrt(share(node.lengths, node.count * BehaviourProfile::kMaxPayload)));
  put(row, kLengthChange, share(node.length_changes, node.pairs));
  put(row, kEmptyShare, share(node.empty, node.count));
  put(row, kOnesShare, share(node.ones, int64_t{8} * node.lengths));
  put(row, kChangedBits, share(node.changed_bits, node.compared_bits));
  put(row, kSamePayload, share(node.same, node.pairs));
  const double per_pair = node.pairs > 0 ? 1.0 / node.pairs : 0.0;
  for (size_t k = 0; k < kPayloadBytes; ++k) put(row, kByteChange + k, node.changes[k] * per_pair);
  if (profile.has_payload) {
    put(row, kLengthUnusual, share(node.unusual, node.count));
    const double per_frame = 1.0 / (255.0 * node.count);
    for (size_t k = 0; k < kPayloadBytes; ++k)
      put(row, kByteDeviation + k,
          bounded((node.bytes[k] * per_frame - profile.byte_mean[k]) * profile.byte_units[k]));
  }
  if (!profile.has_expectations) return;
  put(row, kFixedBits, share(node.unfixed, node.count));
  put(row, kJumps, share(node.jumps, node.pairs));
  put(row, kCounterBroken, share(node.broken, node.pairs));
  if (profile.longest_still > 0) put(row, kStill, excess(node.still, profile.longest_still));
}

void BehaviourGraph::write_times(const Node& node, const FrameWindow& window, const Load& load,
                                 float* row) const {
  const BehaviourProfile::Id& profile = profile_->id(node.index);
  if (window.recording->has_time && profile.min_two_gaps > 0) {
    // The maximum: as many frames as the period allows, plus one.
    const double max =
        1 + std::ceil(2 * static_cast<double>(load.span) / static_cast<double>(profile.min_two_gaps));
    put(row, kEarly, excess(profile.min_two_gaps, node.min_two_gaps));
    put(row, kEarlyShare, share(node.early, node.count));
    put(row, kSurplus, std::max(node.count - max, 0.0) / node.count);
  }
  if (profile.longest_gap > 0) put(row, kSilence, excess(node.silence, profile.longest_gap));
  const int64_t last_position = std::max<int64_t>(window.count - 1, 1);
  put(row, kFirstPosition, share(node.first, last_position));
  put(row, kLastPosition, share(node.last, last_position));
  const auto place_in_time = [&](int64_t position) {
    if (load.span == 0) return 0.0;
    const uint64_t since = gap_ns(load.start, frames_.time_ns[place(window.first + position)]);
    return static_cast<double>(since) / static_cast<double>(load.span);
  };
  put(row, kFirstTime, place_in_time(node.first));
  put(row, kLastTime, place_in_time(node.last));
}

void BehaviourGraph::write_overdue(const Overdue& id, float* row) const {
  put(row, kIdIndex, id.index);
  put(row, kKnown, 1);
  put(row, kExtended, (profile_->vocabulary().ids().keys[place(id.index)] & kCanExtended) != 0);
  put(row, kSilence, excess(id.silence, profile_->id(id.index).longest_gap));
}

void BehaviourGraph::write_nodes(const FrameWindow& window, GraphBlock& block) const {
  const Load load = bus_load(window);
  const size_t start = block.x.size();
  block.x.resize(start + (nodes_.size() + overdue_.size()) * kNodeFeatures);
  float* row = block.x.data() + start;
  const auto begin_row = [&] {
    std::fill_n(row, kNodeFeatures, 0.0F);
    put(row, kWindowGap, load.gap);
    put(row, kWindowGapChange, load.change);
    put(row, kWindowNodes, share(static_cast<int64_t>(nodes_.size()), window.count));
  };
  for (const Node& node : nodes_) {
    begin_row();
    write_counts(node, window, row);
    write_gaps(node, row);
    if (window.recording->has_payload) write_payload(node, row);
    write_times(node, window, load, row);
    row += kNodeFeatures;
  }
  for (const Overdue& id : overdue_) {
    begin_row();
    write_overdue(id, row);
    row += kNodeFeatures;
  }
}

void BehaviourGraph::write_edges(const FrameWindow& window, GraphBlock& block) const {
  const auto edges = transitions_.edges();
  const auto rows = static_cast<int64_t>(transitions_.rows.size());
  const size_t start = block.edges.size() / 2;
  block.edges.resize(2 * (start + edges.size()));
  block.edge_attr.resize((start + edges.size()) * kEdgeFeatures);
  int32_t* pair = block.edges.data() + 2 * start;
  float* row = block.edge_attr.data() + start * kEdgeFeatures;
  for (const Transitions::Edge& edge : edges) {
    const Node& source = nodes_[place(edge.source)];
    const Node& target = nodes_[place(edge.target)];
    const auto positions = transitions_.positions(edge);
    std::fill_n(row, kEdgeFeatures, 0.0F);
    put(row, kEdgeCountShare, share(edge.count, rows));
    // The window's last frame is not a source, and its first frame is not a target.
    put(row, kSourceShare, share(edge.count, source.count - (source.last == rows)));
    put(row, kTargetShare, share(edge.count, target.count - (target.first == 0)));
    // It is not known which IDs follow or precede an adopted ID.
    const auto is_adopted = [&](const Node& node) {
      return node.index == profile_->vocabulary().size() && profile_->is_known(node.index, node.key);
    };
    put(row, kKnownTransition,
        profile_->has_transition(source.index, target.index) || is_adopted(source) || is_adopted(target));
    if (window.recording->has_time) {
      uint64_t min = ~uint64_t{0};
      uint64_t max = 0;
      double sum = 0;
      for (const int32_t position : positions) {
        const size_t frame = place(window.first + position);
        const uint64_t gap = gap_ns(frames_.time_ns[frame], frames_.time_ns[frame + 1]);
        min = std::min(min, gap);
        max = std::max(max, gap);
        sum += static_cast<double>(gap);
      }
      const double mean = scaled_log(sum / static_cast<double>(edge.count));
      put(row, kEdgeGapMean, mean);
      put(row, kEdgeGapMin, edge.count > 1 ? scaled_log(static_cast<double>(min)) : mean);
      put(row, kEdgeGapMax, edge.count > 1 ? scaled_log(static_cast<double>(max)) : mean);
    }
    const int64_t last_position = std::max<int64_t>(rows - 1, 1);
    put(row, kEdgeFirstPosition, share(positions.front(), last_position));
    put(row, kEdgeLastPosition, share(positions.back(), last_position));
    if (edge.count > 1)
      put(row, kPositionGap, share(positions.back() - positions.front(), last_position * (edge.count - 1)));
    put(row, kHasReverse, edge.has_reverse);
    row += kEdgeFeatures;
    *pair++ = edge.source;
    *pair++ = edge.target;
  }
}

}  // namespace plimsoll

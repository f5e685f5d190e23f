#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// How a sample selects neighbours if there are more than the fan-out: at random, or the latest.
enum class SampledNeighbours : uint8_t { random, latest };
template <>
inline constexpr auto kWords<SampledNeighbours> = std::to_array<std::string_view>({"random", "latest"});

enum class NeighbourAggregation : uint8_t { sum, mean };
template <>
inline constexpr auto kWords<NeighbourAggregation> = std::to_array<std::string_view>({"sum", "mean"});

/// How a layer combines the results of the edge types into a node type.
enum class EdgeTypeCombination : uint8_t { sum, mean };
template <>
inline constexpr auto kWords<EdgeTypeCombination> = std::to_array<std::string_view>({"sum", "mean"});

/// What a layer computes for each edge type: GraphSAGE, GIN, relational GCN, whose matrices of edge types are
/// sums of shared ones, or GATv2; or for all edge types together, the heterogeneous graph transformer (HGT).
enum class RelationalLayer : uint8_t { sage, gin, rgcn, gatv2, hgt };
template <>
inline constexpr auto kWords<RelationalLayer> = std::to_array<std::string_view>({"sage", "gin", "rgcn",
                                                                                 "gatv2", "hgt"});

/// The rows that a seed of the test split can see: rows up to the `test_timestamp` of the data set (cutoff),
/// or up to the seed's own time (rolling).
enum class TestHistory : uint8_t { cutoff, rolling };
template <>
inline constexpr auto kWords<TestHistory> = std::to_array<std::string_view>({"cutoff", "rolling"});

/// Where the history of a training seed ends: at its own time (full), or as early before it as for a seed of
/// another split (lagged).
enum class TrainingHistory : uint8_t { lagged, full };
template <>
inline constexpr auto kWords<TrainingHistory> = std::to_array<std::string_view>({"lagged", "full"});

/// The error that regression minimises.
enum class ValueError : uint8_t { absolute, squared };
template <>
inline constexpr auto kWords<ValueError> = std::to_array<std::string_view>({"absolute", "squared"});

/// Options of models for a graph with node types.
struct RelationalSection {
  std::string task = {};  ///< The name of a task of the data set.
  int64_t channels = 64;
  RelationalLayer layer = RelationalLayer::sage;
  int64_t bases = 8;  ///< Shared matrices of a layer of relational GCN.
  int64_t heads = 4;  ///< Heads of gatv2 and hgt; `channels` is the total of all heads.
  NeighbourAggregation aggregation = NeighbourAggregation::sum;
  EdgeTypeCombination combine = EdgeTypeCombination::sum;
  double dropout = 0;
  SampledNeighbours neighbours = SampledNeighbours::random;
  int64_t samples = 10;  ///< Samples of a training seed: epoch e trains on sample (e - 1) mod samples.
  TestHistory test_history = TestHistory::cutoff;
  TrainingHistory training_history = TrainingHistory::lagged;
  /// Lengths, in days, of the spans before the end of a seed's history in which its neighbours are counted;
  /// empty: no counts.
  std::vector<int64_t> history_days = {1, 7, 28, 90};
  ValueError loss = ValueError::absolute;
};

template <EitherOf<RelationalSection> Section, typename Visit>
void visit_keys(Section& relational, Visit&& visit) {
  visit("task", relational.task, Text{});
  visit("channels", relational.channels, Range{1, 65536});
  visit("layer", relational.layer, Choice<RelationalLayer>{});
  visit("bases", relational.bases, Range{1, 65536});
  visit("heads", relational.heads, Range{1, 1024});
  visit("dropout", relational.dropout, Range{0, 0.99});
  visit("aggregation", relational.aggregation, Choice<NeighbourAggregation>{});
  visit("combine", relational.combine, Choice<EdgeTypeCombination>{});
  visit("neighbours", relational.neighbours, Choice<SampledNeighbours>{});
  visit("samples", relational.samples, Range{1, 65536});
  visit("test_history", relational.test_history, Choice<TestHistory>{});
  visit("training_history", relational.training_history, Choice<TrainingHistory>{});
  visit("history_days", relational.history_days, EachInRange{1, 36500, /*may_be_empty=*/true});
  visit("loss", relational.loss, Choice<ValueError>{});
}

}  // namespace plimsoll

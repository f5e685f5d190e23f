#pragma once

#include <cstdint>
#include <string>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

/// The neighbours that a sample has if there are more than the fan-out: drawn at random, or the latest.
enum class SampledNeighbours : uint8_t { random, latest };
template <>
inline constexpr auto kWords<SampledNeighbours> = std::to_array<std::string_view>({"random", "latest"});

enum class NeighbourAggregation : uint8_t { sum, mean };
template <>
inline constexpr auto kWords<NeighbourAggregation> = std::to_array<std::string_view>({"sum", "mean"});

/// The rows that a seed of the test sees: those up to the `test_timestamp` of the data set, or up to its own
/// time.
enum class TestHistory : uint8_t { cutoff, rolling };
template <>
inline constexpr auto kWords<TestHistory> = std::to_array<std::string_view>({"cutoff", "rolling"});

/// The error of a value that regression minimises.
enum class ValueError : uint8_t { absolute, squared };
template <>
inline constexpr auto kWords<ValueError> = std::to_array<std::string_view>({"absolute", "squared"});

/// Models of a graph with node types.
struct RelationalSection {
  std::string task = {};  ///< A task of the data set.
  int64_t channels = 64;
  NeighbourAggregation aggregation = NeighbourAggregation::sum;
  SampledNeighbours neighbours = SampledNeighbours::random;
  TestHistory test_history = TestHistory::cutoff;
  ValueError loss = ValueError::absolute;
};

template <EitherOf<RelationalSection> Section, typename Visit>
void visit_keys(Section& relational, Visit&& visit) {
  visit("task", relational.task, Text{});
  visit("channels", relational.channels, Range{1, 65536});
  visit("aggregation", relational.aggregation, Choice<NeighbourAggregation>{});
  visit("neighbours", relational.neighbours, Choice<SampledNeighbours>{});
  visit("test_history", relational.test_history, Choice<TestHistory>{});
  visit("loss", relational.loss, Choice<ValueError>{});
}

}  // namespace plimsoll

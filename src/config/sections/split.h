#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.h"
#include "config/checks.h"

namespace plimsoll {

enum class SplitBy : uint8_t { time, recording, graph };
template <>
inline constexpr auto kWords<SplitBy> = std::to_array<std::string_view>({"time", "recording", "graph"});

/// How validation data is split off the training data of a `graph_set`.
struct SplitSection {
  SplitBy by = SplitBy::time;
  double validation = 0.2;  ///< Share of each recording, of the recordings, or of the graphs, as `by` says.
  double test = 0;  ///< Share used for neither training nor validation; only if independent graphs are split.
  /// Number of graphs left out between training and validation if recordings are split by time, or `auto`.
  AutoOrNumber embargo = {};
  std::vector<std::string> leave_out = {};  ///< Attacks whose recordings are not used.
  int64_t rule = 2;  ///< Version of the rule for splits; 1 for runs from before rule 2 existed.
};

template <EitherOf<SplitSection> Section, typename Visit>
void visit_keys(Section& split, Visit&& visit) {
  visit("by", split.by, Choice<SplitBy>{});
  visit("validation", split.validation, Range{0.01, 0.9});
  visit("test", split.test, Range{0, 0.9});
  visit("embargo", split.embargo, AutoOr{0, 1e6, /*whole=*/true});
  visit("leave_out", split.leave_out, Names{});
  visit("rule", split.rule, Range{1, 2});
}

}  // namespace plimsoll

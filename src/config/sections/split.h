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

struct SplitSection {
  SplitBy by = SplitBy::time;
  double validation = 0.2;
  double test = 0;
  AutoOrNumber embargo = {};                ///< Number of graphs, or `auto`.
  std::vector<std::string> leave_out = {};  ///< Names of attacks.
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

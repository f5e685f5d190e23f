#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "store/graph_set.h"
#include "store/verify.h"

namespace plimsoll {

void verify_graph_set(const std::filesystem::path& folder, std::vector<std::string>& wrong) {
  const GraphSetView view(folder);
  const GraphSpans& graphs = view.graphs();
  for (int64_t g = 0; g < graphs.graphs() && wrong.size() < kMaxFindings; ++g) {
    const auto at = static_cast<size_t>(g);
    const auto ordered = [&](std::span<const int64_t> pointers) {
      return pointers[at] >= 0 && pointers[at] <= pointers[at + 1] && pointers[at + 1] <= pointers.back();
    };
    if (!ordered(graphs.node_ptr) || !ordered(graphs.edge_ptr)) {
      wrong.push_back(fmt::format("graph {}: its pointers run backwards or out of the columns", g));
      continue;
    }
    const int64_t nodes = graphs.node_ptr[at + 1] - graphs.node_ptr[at];
    const int64_t first = graphs.edge_ptr[at];
    const int64_t last = graphs.edge_ptr[at + 1];
    for (int64_t e = first; e < last; ++e) {
      const int32_t source = graphs.edges[static_cast<size_t>(2 * e)];
      const int32_t target = graphs.edges[static_cast<size_t>(2 * e + 1)];
      if (source >= 0 && source < nodes && target >= 0 && target < nodes) continue;
      wrong.push_back(fmt::format("graph {}: edge {} joins {} and {}, it has {} nodes", g, e - first, source,
                                  target, nodes));
      break;
    }
  }
  const auto finite = [](std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  };
  if (!finite(graphs.x)) wrong.emplace_back("column 'x' holds values that are not finite");
  if (!finite(graphs.edge_attr)) wrong.emplace_back("column 'edge_attr' holds values that are not finite");
  if (!finite(graphs.pos)) wrong.emplace_back("column 'pos' holds coordinates that are not finite");
  const auto infinite = [](std::span<const float> values) {
    return std::ranges::any_of(values, [](float value) { return std::isinf(value); });
  };
  if (infinite(graphs.target)) wrong.emplace_back("column 'target' holds infinite values");
  if (infinite(graphs.node_target)) wrong.emplace_back("column 'node_target' holds infinite values");
  for (size_t i = 0; i < graphs.node_y.size() && wrong.size() < kMaxFindings; ++i)
    if (graphs.node_y[i] < -1)
      wrong.push_back(
          fmt::format("node {}: node_y {} is neither a class nor -1 (unlabelled)", i, graphs.node_y[i]));
}

}  // namespace plimsoll

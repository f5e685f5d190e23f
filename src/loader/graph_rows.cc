#include "loader/graph_rows.h"

#include <fmt/format.h>

namespace plimsoll {

InputError damaged_graph(const GraphSetView& set, int64_t graph) {
  return InputError(
      fmt::format("{}: graph {} points outside its columns; run `plimsoll verify` and make the set again",
                  set.set().folder().string(), graph));
}

GraphRows rows_of(const GraphSetView& set, int64_t graph) {
  const GraphSpans& all = set.graphs();
  const auto g = static_cast<size_t>(graph);
  const auto inside = [](int64_t first, int64_t last, int64_t rows) {
    return 0 <= first && first <= last && last <= rows;
  };
  const GraphRows rows{all.node_ptr[g], all.node_ptr[g + 1] - all.node_ptr[g], all.edge_ptr[g],
                       all.edge_ptr[g + 1] - all.edge_ptr[g]};
  if (!inside(rows.node, all.node_ptr[g + 1], all.node_ptr.back()) ||
      !inside(rows.edge, all.edge_ptr[g + 1], all.edge_ptr.back()))
    throw damaged_graph(set, graph);
  return rows;
}

}  // namespace plimsoll

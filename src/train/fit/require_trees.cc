#include "train/fit/require_trees.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

void require_trees(const BlockSource& source, const GraphList& graphs) {
  GraphBlock block;
  Vector<int32_t, Tag::columns> parent;
  for (const int64_t graph : graphs) {
    source.read(std::span(&graph, 1), block);
    parent.assign(static_cast<size_t>(block.nodes()), -1);
    for (size_t e = 0; e < block.edges.size(); e += 2) {
      const auto [low, high] = std::minmax(block.edges[e], block.edges[e + 1]);
      int32_t& found = parent[static_cast<size_t>(high)];
      if (low == high || found == low) continue;
      if (found >= 0)
        throw InputError(
            fmt::format("graph {}: node {} has edges to nodes {} and {} before it, expected one parent: "
                        "tree_pretraining is for trees, as `plimsoll ingest swc` makes them",
                        graph, high, found, low));
      found = low;
    }
  }
}

}  // namespace plimsoll

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "store/graph_set.h"
#include "store/merge_shards.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Throws InputError that names both sets if a column has different widths in them, or exists in only one.
void require_same_widths(const GraphSetView& first, const GraphSetView& more) {
  const auto require = [&](const char* what, int64_t expected, int64_t found) {
    if (found != expected)
      throw InputError(fmt::format("{}: has {} {}, {} has {}; make both shards from the same data",
                                   more.set().folder().string(), found, what, first.set().folder().string(),
                                   expected));
  };
  require("node features (x)", first.node_features(), more.node_features());
  require("edge features (edge_attr)", first.edge_features(), more.edge_features());
  require("targets per graph (target)", first.targets().graph, more.targets().graph);
  require("targets per node (node_target)", first.targets().node, more.targets().node);
  const auto has = [](const auto& column) { return column.empty() ? 0 : 1; };
  if (first.graphs().graphs() == 0 || more.graphs().graphs() == 0) return;  // Nothing is missing.
  require("classes per node (node_y)", has(first.graphs().node_y), has(more.graphs().node_y));
  require("positions per node (pos)", has(first.graphs().pos), has(more.graphs().pos));
}

// Adds the graph counts of a shard's ranges. The ranges must be the same as in `sum`. Errors: InputError.
void add_ranges(std::vector<GraphRange>& sum, const std::vector<GraphRange>& more, const fs::path& folder) {
  const auto same = [](const GraphRange& a, const GraphRange& b) {
    return a.name == b.name && a.split == b.split && a.content == b.content;
  };
  if (!std::ranges::equal(sum, more, same))
    throw InputError(folder.string() + ": its splits or recordings are not those of the other shards");
  int64_t next = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i].graphs += more[i].graphs;
    sum[i].first_graph = next;
    next += sum[i].graphs;
  }
}

}  // namespace

Merged merge_graph_sets(const MergeRequest& request) {
  RowMerge merge(request, false);
  if (merge.is_done()) return merge.result(0);
  const std::vector<ShardFolder>& shards = merge.shards();
  std::vector<GraphSetView> views;
  for (const ShardFolder& shard : shards) views.emplace_back(shard.folder);
  const GraphSetView& first = views.front();
  GraphSetTables tables = first.tables();
  for (size_t i = 1; i < views.size(); ++i) {
    const GraphSetTables& more = views[i].tables();
    if (more.node_features != tables.node_features || more.edge_features != tables.edge_features ||
        more.vocabulary != tables.vocabulary)
      throw InputError(shards[i].folder.string() +
                       ": its features or vocabulary are not those of the other shards");
    require_same_widths(first, views[i]);
    add_ranges(tables.splits, more.splits, shards[i].folder);
    add_ranges(tables.recordings, more.recordings, shards[i].folder);
  }
  std::vector<const DataSetView*> sets;
  for (const GraphSetView& view : views) sets.push_back(&view.set());
  merge.check(sets);
  GraphSetWriter writer(request.out, request.force, first.node_features(), first.edge_features(),
                        first.targets(), request.files);
  int64_t graphs = 0;
  for (const GraphSetView& view : views) {
    writer.append(view.graphs());
    graphs += view.graphs().graphs();
    merge.add(column_bytes(view.set()));
  }
  writer.publish(tables, merge.take_provenance());
  return merge.result(graphs);
}

}  // namespace plimsoll

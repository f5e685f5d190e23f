#include "loader/batch_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "loader/graph_rows.h"

namespace plimsoll {

BatchLister::BatchLister(const GraphSetView& set, const BatchFields& fields, std::span<const int64_t> graphs,
                         const Batching& batching)
    : set_(set), fields_(fields), batching_(batching) {
  graphs_.reserve(graphs.size());
  for (const int64_t graph : graphs) {
    if (graph < 0 || graph >= set.graphs().graphs())
      throw UsageError(fmt::format(
          "graph {}: {} has {}; the data set was replaced by another since these graphs were chosen", graph,
          set.set().folder().string(), set.graphs().graphs()));
    if (!limits_sizes() || fits(graph)) graphs_.push_back(graph);
  }
}

bool BatchLister::limits_sizes() const {
  return std::min({batching_.nodes, batching_.edges, batching_.bytes}) != Batching::kNoLimit;
}

bool BatchLister::exceeds(const BatchCounts& counts) const {
  return counts.nodes > batching_.nodes || counts.edges > batching_.edges ||
         fields_.bytes(counts) > batching_.bytes;
}

bool BatchLister::fits(int64_t graph) const {
  const GraphRows rows = rows_of(set_, graph);
  const BatchCounts alone{1, rows.nodes, rows.edges};
  if (!exceeds(alone)) return true;
  if (batching_.skip_too_big) return false;
  const auto passed = [&]() -> std::string {
    if (rows.nodes > batching_.nodes)
      return fmt::format("{} nodes, max_nodes={}", rows.nodes, batching_.nodes);
    if (rows.edges > batching_.edges)
      return fmt::format("{} edges, max_edges={}", rows.edges, batching_.edges);
    return fmt::format("{} bytes as a batch, max_bytes={}", fields_.bytes(alone), batching_.bytes);
  };
  throw UsageError(
      fmt::format("graph {}: has {}; give a larger limit, or skip_too_big=True to leave out such graphs",
                  graph, passed()));
}

int64_t BatchLister::max_graphs(int64_t graphs) const {
  if (batching_.min_steps == 0) return batching_.graphs;
  if (graphs < batching_.min_steps)
    throw UsageError(
        fmt::format("min_steps_per_epoch={}: there are {} graphs per rank; give at most that number",
                    batching_.min_steps, graphs));
  return std::min(batching_.graphs, graphs / batching_.min_steps);
}

BatchList BatchLister::cut(const GraphList& order, const Share& share) const {
  const auto count = static_cast<int64_t>(order.size());
  const int64_t mine = batching_.drop_last ? count / share.ranks : (count + share.ranks - 1) / share.ranks;
  const int64_t max = max_graphs(mine);
  const bool sizes = limits_sizes();
  BatchList list;
  list.graphs.reserve(static_cast<size_t>(mine));
  BatchCounts held;
  const auto close = [&] {
    list.begins.push_back(static_cast<int64_t>(list.graphs.size()));
    held = {};
  };
  for (int64_t i = 0; i < mine; ++i) {
    const int64_t graph = order[static_cast<size_t>((i * share.ranks + share.rank) % count)];
    const GraphRows rows = sizes ? rows_of(set_, graph) : GraphRows{};
    BatchCounts with{held.graphs + 1, held.nodes + rows.nodes, held.edges + rows.edges};
    if (with.graphs > max || (held.graphs > 0 && sizes && exceeds(with))) {
      close();
      with = {1, rows.nodes, rows.edges};
    }
    list.graphs.push_back(graph);
    held = with;
  }
  if (held.graphs == max || (held.graphs > 0 && !batching_.drop_last)) close();
  return list;
}

BatchList BatchLister::list(uint32_t epoch, const Share& share) const {
  GraphList order = graphs_;
  if (batching_.shuffle) shuffle(order, batching_.seed, epoch);
  BatchList list = cut(order, share);
  // Without limits on sizes, all ranks have the same number of batches.
  if (share.ranks == 1 || !limits_sizes()) return list;
  int64_t steps = list.size();
  for (int64_t rank = 0; rank < share.ranks; ++rank) {
    const int64_t others = cut(order, {rank, share.ranks}).size();
    steps = batching_.drop_last ? std::min(steps, others) : std::max(steps, others);
  }
  const int64_t own = list.size();
  list.graphs.resize(static_cast<size_t>(list.begins.back()));
  for (int64_t step = own; step < steps; ++step) {
    const GraphList again(list[step % own].begin(), list[step % own].end());
    list.graphs.insert(list.graphs.end(), again.begin(), again.end());
    list.begins.push_back(static_cast<int64_t>(list.graphs.size()));
  }
  list.begins.resize(static_cast<size_t>(steps) + 1);
  return list;
}

}  // namespace plimsoll

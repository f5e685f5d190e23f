#include "sample/neighbour/subgraph_types.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plimsoll {
namespace {

using Column = SampledSubgraph::Column;

constexpr int64_t kPieceEdges = 4096;  // Number of edges or lists that are read together.

struct End {
  int64_t col;
  int64_t row;
  int64_t rank;  // Sampled edges precede reverse edges; each kind keeps its order.
};

// Appends the edges of one list whose neighbours have numbers in the batch.
class ListFilter {
 public:
  ListFilter(const Topology& topology, const NodeIdMap& table) : topology_(topology), table_(table) {}

  void add(EdgeRange list, NeighbourChoice::Without without, int64_t col, SampledSubgraph& out) {
    const auto is_left_out = [&](int64_t edge) {
      return std::ranges::any_of(without,
                                 [edge](const EdgeRun& run) { return run.begin <= edge && edge < run.end; });
    };
    for (int64_t done = 0; done < list.degree; done += kPieceEdges) {
      const int64_t piece = std::min(kPieceEdges, list.degree - done);
      edges_.clear();
      for (int64_t i = 0; i < piece; ++i) edges_.push_back(list.first + done + i);
      neighbours_.resize(edges_.size());
      topology_.read_neighbours(edges_, neighbours_);
      for (size_t i = 0; i < edges_.size(); ++i) {
        const int64_t row = table_.find(neighbours_[i], out.batch[static_cast<size_t>(col)]);
        if (row == NodeIdMap::kNone || is_left_out(edges_[i])) continue;
        out.row.push_back(row);
        out.col.push_back(col);
        out.edge.push_back(edges_[i]);
      }
    }
  }

 private:
  const Topology& topology_;
  const NodeIdMap& table_;
  Column edges_;
  Column neighbours_;
};

}  // namespace

void make_bidirectional(SampledSubgraph& subgraph) {
  const auto sampled = static_cast<int64_t>(subgraph.edge.size());
  Vector<End, Tag::blocks> ends;
  ends.reserve(2 * subgraph.edge.size());
  for (size_t i = 0; i < subgraph.edge.size(); ++i)
    ends.push_back({subgraph.col[i], subgraph.row[i], static_cast<int64_t>(i)});
  for (size_t i = 0; i < subgraph.edge.size(); ++i)
    ends.push_back({subgraph.row[i], subgraph.col[i], sampled + static_cast<int64_t>(i)});
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    return std::tie(a.col, a.row, a.rank) < std::tie(b.col, b.row, b.rank);
  });
  ends.erase(std::unique(ends.begin(), ends.end(),
                         [](const End& a, const End& b) { return a.col == b.col && a.row == b.row; }),
             ends.end());

  const Column edge = std::move(subgraph.edge);
  subgraph.row.clear();
  subgraph.col.clear();
  subgraph.edge.clear();
  for (const End& end : ends) {
    subgraph.row.push_back(end.row);
    subgraph.col.push_back(end.col);
    subgraph.edge.push_back(edge[static_cast<size_t>(end.rank % sampled)]);
  }
  subgraph.edges_per_hop.clear();
}

void induce(const Topology& topology, const NodeIdMap& table, PredictedEdges& targets,
            SampledSubgraph& subgraph) {
  subgraph.row.clear();
  subgraph.col.clear();
  subgraph.edge.clear();
  subgraph.edges_per_hop.clear();
  ListFilter filter(topology, table);
  Vector<EdgeRange, Tag::blocks> lists(kPieceEdges);
  for (size_t first = 0; first < subgraph.node.size(); first += kPieceEdges) {
    const size_t piece = std::min(subgraph.node.size() - first, static_cast<size_t>(kPieceEdges));
    topology.read_lists(std::span(subgraph.node).subspan(first, piece), lists);
    for (size_t i = 0; i < piece; ++i) {
      const auto without = targets.of_node(0, subgraph.node[first + i]);
      filter.add(lists[i], without, static_cast<int64_t>(first + i), subgraph);
    }
  }
}

}  // namespace plimsoll

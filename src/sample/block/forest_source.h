#pragma once

#include <memory>

#include "base/mutex.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Number of changes that a ForestSource makes.
struct ForestCounts {
  int64_t graphs = 0;          ///< Graphs that are replaced by forests.
  int64_t edges_left_out = 0;  ///< Stored edges of these graphs that the forests lack.
};

/// A source whose graphs are forests in which parents have lower numbers than their children. A graph that
/// already is such a forest stays unchanged, including duplicate and reverse edges and self-loops. Any other
/// graph is replaced by its breadth-first forest: a search from the root visits neighbours in ascending
/// order, and nodes are renumbered in the order of their visit. Only edges between a child and its parent are
/// kept, in their order. Parts that the root does not reach are searched from the node with the most
/// neighbours, or from the first such node. Any number of threads may read; graphs are changed one at a time.
/// The source must have graphs with classes: pairs, targets and teacher outputs are not reordered.
class ForestSource : public BlockSource {
 public:
  static constexpr int64_t kMaxNeighbours = -1;

  /// `root` is a node of every graph, or kMaxNeighbours. If it is above 0, graphs that already are forests
  /// also get a new root. Reads all graphs once, and holds memory (Tag::blocks) for the largest graph if any
  /// graph changes. Errors: InputError for a graph without this node; Interrupted; those of source->read().
  ForestSource(std::unique_ptr<BlockSource> source, int64_t root);

  const ForestCounts& counts() const { return counts_; }
  int64_t graphs() const override { return source_->graphs(); }
  int64_t node_features() const override { return source_->node_features(); }
  int64_t edge_features() const override { return source_->edge_features(); }
  RowWidths widths() const override { return source_->widths(); }
  RowWidths room() const override { return source_->room(); }
  const GraphSetTables& tables() const override { return source_->tables(); }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override { source_->will_need(graphs); }

 private:
  using Numbers = Vector<int32_t, Tag::blocks>;

  // One graph, and scratch memory for its forest.
  struct Scratch {
    GraphBlock graph;
    Numbers parent;     // [N] Parent of each node, -1 for a root.
    Numbers first;      // [N+1] Offset of each node's neighbours in `neighbour`.
    Numbers neighbour;  // Neighbours of each node, ascending, each once.
    Numbers count;      // [N] Number of neighbours of each node.
    Numbers roots;      // [N] Nodes by descending number of neighbours.
    Numbers order;      // [N] Old number of each new node.
    Numbers place;      // [N] New number of each old node.

    bool is_forest();
    void grow(int64_t root);
    void find_neighbours();
    void search(int32_t root);
    bool joins(size_t edge) const;
    void append_to(GraphBlock& block) const;
  };
  // Reads one graph into scratch_. Returns whether it has to change; scratch_ then contains its forest.
  bool change(int64_t graph) const PLIMSOLL_REQUIRES(mutex_);

  std::unique_ptr<BlockSource> source_;
  const int64_t root_;
  ForestCounts counts_;
  mutable Mutex mutex_;
  mutable Scratch scratch_ PLIMSOLL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll

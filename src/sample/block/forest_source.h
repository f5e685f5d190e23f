#pragma once

#include <memory>
#include <mutex>

#include "sample/block/block.h"

namespace plimsoll {

/// What a ForestSource changes of its source.
struct ForestCounts {
  int64_t graphs = 0;          ///< that it gives as forests
  int64_t edges_left_out = 0;  ///< of these, as they are stored
};

/// A source whose graphs are forests in which parents have lower numbers than their children. A graph that is
/// one stays as it is, edges that are stored twice or both ways and self-loops included. Any other becomes
/// its breadth-first forest: nodes in the order in which a search from the root reaches them, which visits
/// neighbours in ascending order, and of the edges, whose order stays, those between a child and its parent.
/// What the root does not reach grows from its node with most neighbours, the first of equals.
/// Any number of threads may read; graphs are changed one at a time. Of a source of graphs with classes:
/// pairs, targets and what teachers say are not reordered.
class ForestSource : public BlockSource {
 public:
  static constexpr int64_t kMaxNeighbours = -1;

  /// `root` is a node of every graph, or kMaxNeighbours. Another than node 0 is the root of trees that would
  /// stay as well. Reads all graphs once, and holds memory (Tag::blocks) for the largest if one changes.
  /// Errors: InputError for a graph that has no such node.
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

  // One graph, and scratch for its forest.
  struct Scratch {
    GraphBlock graph;
    Numbers parent;     // [N], -1 of a root
    Numbers first;      // [N+1] of the neighbours of each node
    Numbers neighbour;  // ascending; each once
    Numbers count;      // [N] of them
    Numbers roots;      // [N] nodes by how many neighbours they have
    Numbers order;      // [N] the node with each new number
    Numbers place;      // [N] the new number of each node

    bool is_forest();
    void grow(int64_t root);
    void find_neighbours();
    void search(int32_t root);
    bool joins(size_t edge) const;
    void append_to(GraphBlock& block) const;
  };
  // Reads one graph into scratch_, and says whether it has to change; its forest is there then.
  bool change(int64_t graph) const;

  std::unique_ptr<BlockSource> source_;
  const int64_t root_;
  ForestCounts counts_;
  mutable std::mutex mutex_;  // guards what follows
  mutable Scratch scratch_;
};

}  // namespace plimsoll

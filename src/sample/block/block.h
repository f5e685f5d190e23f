#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "rows/row_counters.h"
#include "sample/block/feature_rows.h"
#include "store/graph_set.h"

namespace plimsoll {

/// The size of one graph, which decides the memory of its block.
struct GraphShape {
  int32_t nodes = 0;
  int32_t edges = 0;
  int32_t self_loops = 0;            ///< among the edges
  int32_t max_in = 0;                ///< the most edges into one node
  int32_t max_in_without_loops = 0;  ///< the same, self-loops left out
  int32_t label = 0;
  int32_t labelled_nodes = 0;
  int32_t highest_node_label = -1;
  int32_t pairs = 0;  ///< of nodes, to be judged
};

/// How much is in a block.
struct BlockSize {
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t pairs = 0;

  void add(const GraphShape& shape) {
    ++graphs;
    nodes += shape.nodes;
    edges += shape.edges;
    pairs += shape.pairs;
  }
};

/// What lies within some number of hops of a sample's seeds: its first nodes, and the edges into them, which
/// are its first edges.
struct Prefix {
  int64_t nodes = 0;
  int64_t edges = 0;
};

/// Numbers that stand beside each graph, or beside each node.
struct ItemRows {
  int64_t width = 0;  ///< numbers of one; 0: there are none
  bool of_nodes = false;

  int64_t rows(int64_t graphs, int64_t nodes) const { return of_nodes ? nodes : graphs; }
  int64_t numbers(int64_t graphs, int64_t nodes) const { return width * rows(graphs, nodes); }
};

/// How many numbers stand beside each node, edge and graph of a source.
struct RowWidths {
  int64_t node_features = 0;
  int64_t edge_features = 0;
  ItemRows teacher = {};    ///< what a teacher says
  int64_t hops = 0;         ///< of the samples that its graphs are; 0: they are none
  ItemRows targets = {};    ///< what is to be predicted, where that is no class
  int64_t coordinates = 0;  ///< of a node, where models ask for them: kCoordinates
  bool planar = false;      ///< where there are some: all z of the source are equal
  bool row_places = false;  ///< GraphBlock::row_place
};

/// A block of whole graphs in memory, in the layout of GraphSpans, with each graph's index in the data set.
struct GraphBlock {
  Vector<int64_t, Tag::blocks> graph;     ///< [G] index in the data set: the key of its random numbers
  Vector<int64_t, Tag::blocks> node_ptr;  ///< [G+1], from 0
  Vector<int64_t, Tag::blocks> edge_ptr;  ///< [G+1], from 0
  Vector<float, Tag::blocks> x;           ///< [N, F]
  Vector<int32_t, Tag::blocks> edges;
  Vector<float, Tag::blocks> edge_attr;
  Vector<int64_t, Tag::blocks> y;
  Vector<int64_t, Tag::blocks> node_y;  ///< [N], -1 without a label; empty where nodes have none. Where nodes
                                        ///< have targets 0 for one that has a number, else -1
  Vector<int32_t, Tag::blocks>
      pairs;  ///< [P, 2] nodes of the block that may have an edge; empty where none are asked
  Vector<float, Tag::blocks> pair_y;   ///< [P] 1 if they have, else 0
  Vector<float, Tag::blocks> teacher;  ///< [G, W] or [N, W], what a teacher says; empty where there is none
  Vector<float, Tag::blocks> targets;  ///< [G, W] or [N, W], NaN where unknown; empty where none are asked
  Vector<float, Tag::blocks> pos;      ///< [N, 3] where nodes lie; likewise
  Vector<Prefix, Tag::blocks>
      prefixes;  ///< [G, hops] within 0 .. hops-1 hops; empty where graphs are no samples
  /// [N] where rows of features are left out (FeatureRows): p for number p of those, -1 - p for row p of x,
  /// whose first rows are then the others, in the order of nodes. Empty: x has a row for each node.
  Vector<int32_t, Tag::blocks> row_place;

  /// Empties it, keeping its memory for the next block.
  void clear();
  /// Empties it, with room for so much. Errors: BudgetExceeded.
  void make_room(const BlockSize& size, const RowWidths& widths);
  /// The most bytes that make_room takes.
  static int64_t bytes_for(const BlockSize& size, const RowWidths& widths);
  GraphSpans spans() const { return {node_ptr, edge_ptr, x, edges, edge_attr, y, node_y}; }
  int64_t graphs() const { return static_cast<int64_t>(y.size()); }
  int64_t nodes() const { return node_ptr.empty() ? 0 : node_ptr.back(); }
  int64_t edge_count() const { return edge_ptr.empty() ? 0 : edge_ptr.back(); }
};

/// Of each graph of a block. Errors: InputError for counts or labels beyond 32 bits.
Vector<GraphShape, Tag::columns> shapes_of(const GraphBlock& block);

/// What an epoch takes of disks, those that validate included, in bytes.
struct ReadingCost {
  double read = 0;
  double written = 0;
  double pieces = 0;       ///< in which it is read, where that is here and there
  int64_t data = 0;        ///< all that a cache could have: features as f32, and edges
  int64_t training = 0;    ///< graphs that train
  int64_t validating = 0;  ///< and that do not
};

/// Where blocks come from: graphs by index, 0 .. graphs()-1. Any number of threads may call it at once.
class BlockSource {
 public:
  virtual ~BlockSource() = default;

  virtual int64_t graphs() const = 0;
  virtual int64_t node_features() const = 0;  ///< F
  virtual int64_t edge_features() const = 0;  ///< K
  virtual RowWidths widths() const { return {node_features(), edge_features()}; }
  /// The widest that read() makes rows for a while: in a block with room for them it allocates nothing.
  virtual RowWidths room() const { return widths(); }
  /// Splits and recordings over the graphs, features and vocabulary.
  virtual const GraphSetTables& tables() const = 0;

  /// Replaces `block` by the graphs asked for, in that order.
  virtual void read(std::span<const int64_t> graphs, GraphBlock& block) const = 0;

  /// The shape of every graph, by index, on `threads` threads. Errors: InputError for counts or labels beyond
  /// 32 bits.
  virtual Vector<GraphShape, Tag::columns> shapes(int threads) const;

  /// Of sources of samples: the shapes of what lies within 0 .. hops-1 hops of a graph's seeds, labels aside.
  /// [graphs(), hops], as shapes() found them; valid until it is called again.
  virtual std::span<const GraphShape> prefix_shapes() const { return {}; }

  /// Bytes (Tag::cache) that make reading quicker, beyond those that it has from the start; 0: none do.
  virtual int64_t max_cache_bytes() const { return 0; }
  /// Takes so many, in place of those before. Errors: BudgetExceeded.
  virtual void resize_cache(int64_t /*bytes*/) const {}
  /// What reading an epoch would take with a cache of so many bytes and room on a disk, after shapes(); none:
  /// it has none.
  virtual std::optional<ReadingCost> reading_cost(int64_t /*cache_bytes*/) const { return std::nullopt; }
  /// What its cache has done so far; none: it has none.
  virtual std::optional<RowCounters> row_counters() const { return std::nullopt; }

  /// Of sources with RowWidths::row_places: their rows of features. Null: blocks have all of theirs.
  virtual const FeatureRows* feature_rows() const { return nullptr; }

  /// Tells the system that these graphs will be read soon, where they lie on a disk.
  virtual void will_need(std::span<const int64_t> /*graphs*/) const {}
};

/// source.shapes(threads).
inline Vector<GraphShape, Tag::columns> read_shapes(const BlockSource& source, int threads) {
  return source.shapes(threads);
}

}  // namespace plimsoll

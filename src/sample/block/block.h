#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "rows/row_counters.h"
#include "sample/block/feature_rows.h"
#include "sample/block/graph_shapes.h"
#include "store/graph_set.h"

namespace plimsoll {

struct SampleLayout;

/// Size of a block.
struct BlockSize {
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t pairs = 0;  ///< Node pairs to predict.

  void add(const GraphShape& shape) {
    ++graphs;
    nodes += shape.nodes;
    edges += shape.edges;
    pairs += shape.pairs;
  }
};

/// The part of a sample within some number of hops of its seeds: its first `nodes` nodes, and its first
/// `edges` edges, which are the sampled edges into these nodes.
struct Prefix {
  int64_t nodes = 0;
  int64_t edges = 0;
};

/// Shape of a column with a row for each graph or for each node.
struct ItemRows {
  int64_t width = 0;  ///< Numbers per row; 0 if there is no such column.
  bool of_nodes = false;

  int64_t rows(int64_t graphs, int64_t nodes) const { return of_nodes ? nodes : graphs; }
  int64_t numbers(int64_t graphs, int64_t nodes) const { return width * rows(graphs, nodes); }
};

/// Numbers per node, edge and graph of a source of blocks.
struct RowWidths {
  int64_t node_features = 0;
  int64_t edge_features = 0;
  ItemRows teacher = {};    ///< Teacher outputs.
  int64_t hops = 0;         ///< Hops of the samples if the graphs are samples, or 0.
  ItemRows targets = {};    ///< Regression targets, if any.
  int64_t coordinates = 0;  ///< Coordinates per node if models need them: kCoordinates.
  bool planar = false;      ///< Whether all z coordinates of the source are equal.
  bool row_places = false;  ///< Whether GraphBlock::row_place is used.
  /// If above 0, nodes have no features; the only number of a node is its index in the graph, which is below
  /// this value.
  int64_t node_numbers = 0;
  int64_t node_codes = 0;  ///< Maximum codes per node of any type, if nodes have types.
  /// The types of nodes and edges (GraphBlock::parts); null if there is one of each.
  const SampleLayout* layout = nullptr;
};

/// A block of G whole graphs with N nodes and E edges in memory, in the layout of GraphSpans, with each
/// graph's index in the data set.
struct GraphBlock {
  /// [G] Index in the data set; keys the random numbers of the graph.
  Vector<int64_t, Tag::blocks> graph;
  Vector<int64_t, Tag::blocks> node_ptr;  ///< [G+1], starts at 0.
  Vector<int64_t, Tag::blocks> edge_ptr;  ///< [G+1], starts at 0.
  Vector<float, Tag::blocks> x;           ///< [N, F].
  Vector<int32_t, Tag::blocks> edges;     ///< [E, 2]: source and target, local to the graph.
  Vector<float, Tag::blocks> edge_attr;   ///< [E, K].
  Vector<int64_t, Tag::blocks> y;         ///< [G] Class of each graph.
  /// [N] Class of each node, -1 without a label; empty if nodes have no labels. If nodes have regression
  /// targets: 0 for nodes with a target, otherwise -1.
  Vector<int64_t, Tag::blocks> node_y;
  /// [P, 2] Pairs of nodes of the block that may have an edge; empty unless pairs are predicted.
  Vector<int32_t, Tag::blocks> pairs;
  Vector<float, Tag::blocks> pair_y;   ///< [P] 1 if the pair is an edge, otherwise 0.
  Vector<float, Tag::blocks> teacher;  ///< [G, W] or [N, W] Teacher outputs; empty without a teacher.
  /// [G, W] or [N, W] Regression targets, NaN if unknown; empty if none are requested.
  Vector<float, Tag::blocks> targets;
  Vector<float, Tag::blocks> pos;  ///< [N, 3] Positions of the nodes; empty if none are requested.
  /// [G, hops] Prefixes within 0 .. hops-1 hops; empty if graphs are not samples.
  Vector<Prefix, Tag::blocks> prefixes;
  /// [N] Location of the feature row of each node, if some rows are left out (FeatureRows): p for row p of
  /// the left-out rows, or -1 - p for row p of x, whose first rows are then the rows of the other nodes, in
  /// node order. If empty, x has a row for each node.
  Vector<int32_t, Tag::blocks> row_place;

  // If nodes have types, the block is not stored graph by graph. Nodes of a type are in the order of hops,
  // then of graphs. Edges are in the same order, and their ends are numbered within each node type. x has the
  // numbers of each node type, [nodes, numbers], and `edges` the edges of each edge type, one type after the
  // other.
  Vector<int32_t, Tag::blocks> codes;  ///< Codes of each type, [columns, nodes], one type after the other.
  /// For each node of the type SampleLayout::destinations, its place among the scores [G, destinations] of
  /// the block, g * destinations + node; G * destinations for padding. Empty if there is no such type.
  Vector<int64_t, Tag::blocks> reached;
  /// The sums of the counts of SampleLayout over the graphs of the block, with its padding; empty if nodes
  /// have no types.
  Vector<int64_t, Tag::blocks> parts;

  /// Makes the block empty. Its memory is kept for the next block.
  void clear();
  /// Makes the block empty, with capacity for `size`. Errors: BudgetExceeded.
  void make_room(const BlockSize& size, const RowWidths& widths);
  /// Returns the maximum bytes that make_room() allocates.
  static int64_t bytes_for(const BlockSize& size, const RowWidths& widths);
  GraphSpans spans() const { return {node_ptr, edge_ptr, x, edges, edge_attr, y, node_y}; }
  int64_t graphs() const { return static_cast<int64_t>(y.size()); }
  int64_t nodes() const { return node_ptr.empty() ? 0 : node_ptr.back(); }
  int64_t edge_count() const { return edge_ptr.empty() ? 0 : edge_ptr.back(); }
};

/// Computes the shape of each graph of a block. Errors: InputError for counts or labels beyond 32 bits.
Vector<GraphShape, Tag::columns> shapes_of(const GraphBlock& block);

/// Estimated disk traffic of an epoch, including validation.
struct ReadingCost {
  double read = 0;             ///< Bytes read.
  double written = 0;          ///< Bytes written.
  double scattered_reads = 0;  ///< Number of scattered reads.
  int64_t data = 0;            ///< Total bytes that a cache could hold: features as f32, and edges.
  int64_t training = 0;        ///< Number of training graphs.
  int64_t validating = 0;      ///< Number of validation graphs.
};

/// Work done to compute the shapes of all graphs, if the graphs had to be sampled for this.
struct StartUpCost {
  int64_t graphs = 0;  ///< Number of graphs that were sampled.
  double seconds = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};

/// Source of blocks: graphs by index, 0 .. graphs()-1. Any number of threads may call it at once.
class BlockSource {
 public:
  virtual ~BlockSource() = default;

  virtual int64_t graphs() const = 0;
  virtual int64_t node_features() const = 0;  ///< Features per node, F.
  virtual int64_t edge_features() const = 0;  ///< Features per edge, K.
  virtual RowWidths widths() const { return {node_features(), edge_features()}; }
  /// Maximum widths that read() may need temporarily. If a block has space for them, read() allocates
  /// nothing.
  virtual RowWidths room() const { return widths(); }
  /// Returns the splits and recordings of the graphs, the features and the vocabulary.
  virtual const GraphSetTables& tables() const = 0;

  /// Replaces the content of `block` with these graphs, in this order. After an error the content of `block`
  /// is undefined. Errors: InputError for damaged data, Failure, BudgetExceeded.
  virtual void read(std::span<const int64_t> graphs, GraphBlock& block) const = 0;

  /// Computes the shape of every graph on `threads` threads. The result is indexed by graph, or by
  /// BoundedGraphs::place_of() if the source has bounded() graphs. Errors: InputError for counts or labels
  /// beyond 32 bits; Interrupted, ThreadRefused; those of read().
  virtual Vector<GraphShape, Tag::columns> shapes(int threads) const;
  /// Returns the graphs for which shapes() returns an upper bound instead of the shape.
  virtual BoundedGraphs bounded() const { return {}; }
  /// Overwrites the counts of items to predict, labelled_nodes and pairs, in the shape of a bounded() graph
  /// with those of the graph itself.
  virtual void count_items(int64_t /*graph*/, GraphShape& /*shape*/) const {}

  /// Returns the cost of the last call of shapes(); nullopt if the source does not count it.
  virtual std::optional<StartUpCost> start_up_cost() const { return std::nullopt; }

  /// For sources of samples: shapes of the parts of each graph within 0 .. hops-1 hops of its seeds, without
  /// labels. [size of shapes(), hops], computed by shapes() and valid until its next call.
  virtual std::span<const GraphShape> prefix_shapes() const { return {}; }

  /// For sources of samples with node types: the counts of SampleLayout, [size of shapes(), counts],
  /// computed by shapes() and valid until its next call.
  virtual std::span<const int32_t> part_counts() const { return {}; }

  /// Maximum additional bytes (Tag::cache) that make reading faster; 0 if a cache does not help.
  virtual int64_t max_cache_bytes() const { return 0; }
  /// Replaces the cache with one of this many bytes. Errors: BudgetExceeded.
  virtual void resize_cache(int64_t /*bytes*/) const {}
  /// Prepares the data that reading these graphs needs, unless it already exists, while no block is in
  /// memory. `lend` frees memory for this time; it is called at most once, and only if there is data to
  /// prepare. Call it after resize_cache(). Errors: those of read().
  virtual void prepare(std::span<const int64_t> /*graphs*/, const std::function<void()>& /*lend*/) const {}
  /// Estimates the disk traffic of an epoch for a cache of this size and the available disk space. Call it
  /// after shapes(). Returns nullopt if the source has no cache.
  virtual std::optional<ReadingCost> reading_cost(int64_t /*cache_bytes*/) const { return std::nullopt; }
  /// Returns the counters of the cache so far; nullopt if the source has no cache.
  virtual std::optional<RowCounters> row_counters() const { return std::nullopt; }

  /// Returns the feature rows of a source with RowWidths::row_places. Returns null if blocks contain all
  /// rows.
  virtual const FeatureRows* feature_rows() const { return nullptr; }

  /// Tells the system that these graphs will be read from disk soon.
  virtual void will_need(std::span<const int64_t> /*graphs*/) const {}
};

/// Calls source.shapes(threads).
inline Vector<GraphShape, Tag::columns> read_shapes(const BlockSource& source, int threads) {
  return source.shapes(threads);
}

}  // namespace plimsoll

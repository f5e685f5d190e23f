#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nn/block_statistics.h"

namespace plimsoll {

/// The kind of item for which a loss is computed. The loss of a batch is the mean over its items.
enum class Items { graphs, labelled_nodes, nodes, pairs };

/// The parts of a Batch that a model needs.
struct CollateOptions {
  Items items = Items::graphs;
  bool self_loops = false;     ///< Whether Batch::edge_order keeps the data's self-loops.
  bool neighbour_ids = false;  ///< Whether to set Batch::neighbour_ptr and Batch::neighbour_ids.
  bool edge_index = false;     ///< Whether to set Batch::edge_index.
  /// Number of layers, for a model that evaluates the seeds of a sample using Batch::layers; otherwise 0.
  int64_t layers = 0;
  bool degrees = false;      ///< Whether to set Batch::degrees if layers do not have all edges.
  bool edge_weight = false;  ///< Whether to set Batch::edge_weight; the weight is then the only edge column.
};

/// The edges that one layer reads, and the nodes that it computes.
struct LayerEdges {
  at::Tensor order;  ///< i32 (ops/attention/attention.h)
  /// Number of nodes, counted from the first, that the layer computes; nullopt: all.
  std::optional<int64_t> targets = {};

  /// Returns the rows of the targets from the rows of all nodes that the layer reads.
  at::Tensor target_rows(const at::Tensor& rows) const {
    return targets ? rows.narrow(0, 0, *targets) : rows;
  }
};

/// The nodes and edges of a block of samples with node types and edge types. Each list has one entry per type
/// that samples can have, in the same order for every block. A type may have no nodes or no edges. Nodes of a
/// type are in the order of hops, so the nodes within some number of hops of the seeds are first.
struct TypedBatch {
  std::vector<at::Tensor> numbers;          ///< f32 [N, numbers] for each node type; views like Batch::x.
  std::vector<at::Tensor> codes;            ///< i32 [columns, N] for each node type; views like Batch::x.
  std::vector<std::vector<int64_t>> nodes;  ///< Number of nodes of each type within 0, 1, ... hops.
  /// [layers][edge types] The edges that a layer reads (ops/attention/attention.h). Their sources are the
  /// nodes within one more hop than the nodes that the layer computes. Undefined if the layer does not read
  /// the type.
  std::vector<std::vector<at::Tensor>> orders;

  // The nodes of the type whose nodes are recommended (SampleLayout::destinations), R of them; undefined if
  // there is no such type.
  at::Tensor reached;         ///< i64 [R] GraphBlock::reached; a view like Batch::x.
  at::Tensor reached_counts;  ///< f32 [R, T] log(1 + number of edges) from the node, for each of the T edge
                              ///< types whose source is this type.
  /// [edge types] The edges of these types in the opposite direction, from the nodes within one hop less to
  /// all nodes of the type; undefined for other types.
  std::vector<at::Tensor> reached_orders;

  int64_t nodes_within(size_t type, int64_t hops) const { return nodes[type][static_cast<size_t>(hops)]; }
};

/// A block of graphs as tensors, PyG's `Batch`. It has G graphs, N nodes and E stored edges. A sample that is
/// trimmed to its hops has only the edges that some layer reads.
struct Batch {
  at::Tensor x;            ///< f32 [N, F]; may be a view of memory that must outlive the batch.
  at::Tensor row_place;    ///< i32 [N], a view like x: GraphBlock::row_place. Defined if rows may be missing
                           ///< from x on the host; row n of x is then the row of node n only on a device.
  at::Tensor edge_attr;    ///< f32 [E, K]; a view like x.
  at::Tensor edge_weight;  ///< f32 [E]; a view like x. Undefined unless CollateOptions::edge_weight is set.
  at::Tensor edge_order;   ///< i32, the order of the stored edges (ops/attention/attention.h), with
                           ///< self-loops only if CollateOptions::self_loops is set; undefined if layers have
                           ///< separate orders.
  /// The edges of each layer of a sample, if CollateOptions::layers is set; otherwise empty. Nodes are in the
  /// order of hops: the targets of a layer are the first rows of the output of the previous layer, and the
  /// targets of the last layer are the seeds.
  std::vector<LayerEdges> layers;
  /// i64 [2, E], indices of nodes of the block; undefined unless CollateOptions::edge_index is set.
  at::Tensor edge_index;
  at::Tensor graph_ptr;  ///< i64 [G + 1]: the nodes of graph g are graph_ptr[g] .. graph_ptr[g+1]-1; may be
                         ///< undefined.
  at::Tensor items;      ///< i64 [items], the labelled nodes; undefined if items are graphs.
  at::Tensor pairs;      ///< i64 [2, items], the nodes of each pair; undefined unless items are pairs.
  at::Tensor y;  ///< The labels of items: i64 [items] for graphs or labelled nodes; f32 [items] for pairs, 1
                 ///< for a pair with an edge, otherwise 0; undefined if items are nodes.
  int64_t item_count = 0;

  /// neighbour_ids[neighbour_ptr[n]] .. neighbour_ids[neighbour_ptr[n+1]-1] are the distinct IDs x[:, 0] of
  /// the nodes to which the stored edges of node n point, ascending. They include the node's own ID if it has
  /// a self-loop. Undefined unless CollateOptions::neighbour_ids is set. i64 [N + 1] and i64 [E]; the entries
  /// of neighbour_ids from neighbour_ptr[N] on are not set.
  at::Tensor neighbour_ptr;
  at::Tensor neighbour_ids;

  /// f32 [N], the number of incoming edges of each node without self-loops, or the sum of their weights if
  /// CollateOptions::edge_weight is set. Defined if CollateOptions::degrees is set and some of the edges are
  /// missing from the block.
  at::Tensor degrees;

  at::Tensor teacher;  ///< f32 [graphs or nodes, W], the teacher's outputs; undefined without a teacher.
  at::Tensor targets;  ///< f32 [graphs or nodes, W], values to predict, NaN where unknown; undefined if there
                       ///< are none.

  /// The nodes and edges, if they have types; x, edge_attr and edge_order are then undefined.
  TypedBatch types;

  at::Tensor pos;       ///< f32 [N, 3], positions of nodes; undefined if the model does not read them.
  bool planar = false;  ///< Whether all z coordinates of the data set are equal.

  /// Receives the statistics of layers that normalise over the block; null if no one needs them.
  std::shared_ptr<BlockStatistics> statistics;
  /// Whether layers keep only their inputs and are recomputed in backward (nn/recompute.h). This needs less
  /// memory and more time; results have the same bits.
  bool recompute = false;

  // Keys of random numbers (base/philox.h).
  at::Tensor node_keys;   ///< i64 [3, N]: for each node, the index of its graph in the data set, its index in
                          ///< the graph, and the first stored edge of the graph. If Batch::layers is not
                          ///< empty, only the nodes that layers compute have keys.
  at::Tensor graph_item;  ///< i64 [G], the index of each graph in the data set.
  at::Tensor graph_local;  ///< i64 [G], zeros.

  /// The batch on the host, if this one is a copy on a device (engine/blocks/device_blocks.h). Null if this
  /// batch is on the host.
  const Batch* on_host = nullptr;
  /// Returns the batch on the host: this one, or the one of which it is a copy.
  const Batch& read() const { return on_host != nullptr ? *on_host : *this; }

  /// Calls visit(tensor) for the order of each layer, and for each other tensor that is defined, except those
  /// of `types`.
  template <typename Visit>
  void each_tensor(const Visit& visit) {
    for (LayerEdges& layer : layers) visit(layer.order);
    for (at::Tensor* tensor : {&x, &row_place, &edge_attr, &edge_weight, &edge_order, &edge_index, &graph_ptr,
                               &items, &pairs, &y, &neighbour_ptr, &neighbour_ids, &degrees, &teacher,
                               &targets, &pos, &node_keys, &graph_item, &graph_local})
      if (tensor->defined()) visit(*tensor);
  }

  /// Returns the edges that a layer reads: its entry in `layers`, or all stored edges if there are none.
  LayerEdges edges_of(size_t layer) const { return layers.empty() ? LayerEdges{edge_order} : layers[layer]; }
  int64_t nodes() const { return x.size(0); }
  int64_t graphs() const { return graph_item.size(0); }
  at::Tensor node_item() const { return node_keys.select(0, 0); }
  at::Tensor node_local() const { return node_keys.select(0, 1); }
};

}  // namespace plimsoll

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nn/block_statistics.h"

namespace plimsoll {

/// What has a loss of its own; the loss of a batch is the mean over them.
enum class Items { graphs, labelled_nodes, nodes, pairs };

/// What a model wants of a block.
struct CollateOptions {
  Items items = Items::graphs;
  bool self_loops = false;     ///< stored self-loops stay in the order of edges
  bool neighbour_ids = false;  ///< of each node the IDs that it points to
  bool edge_index = false;     ///< source and target of each edge
  int64_t layers = 0;          ///< of a model that judges a sample's seeds by Batch::layers; 0: it does not
  bool degrees = false;        ///< Batch::degrees where layers do not have all edges
  bool edge_weight = false;    ///< Batch::edge_weight: the one column of edges is their weight
};

/// The edges that one layer reads, and the nodes that it works on.
struct LayerEdges {
  at::Tensor order;                     ///< i32 (ops/attention.h)
  std::optional<int64_t> targets = {};  ///< the first so many of the nodes that it reads; none: all

  /// Of rows of the nodes that it reads those of its targets.
  at::Tensor of_targets(const at::Tensor& rows) const { return targets ? rows.narrow(0, 0, *targets) : rows; }
};

/// A block of graphs as tensors, in PyG's terms one `Batch`. G graphs, N nodes, E stored edges: of a sample
/// that is trimmed to its hops those that some layer reads.
struct Batch {
  at::Tensor x;          ///< f32 [N, F]; may be a view of memory that must outlive the batch
  at::Tensor row_place;  ///< i32 [N], likewise: GraphBlock::row_place, where x on the host may lack rows, so
                         ///< that only a device reads it by node; else undefined
  at::Tensor edge_attr;  ///< f32 [E, K], likewise
  at::Tensor edge_weight;  ///< f32 [E], likewise; undefined where nobody asks
  at::Tensor edge_order;   ///< i32, the stored edges, without self-loops if so asked (ops/attention.h);
                           ///< undefined where layers have their own
  /// Of a sample, where the model asks for it: the edges of each layer. Nodes stand in the order of hops, so
  /// a layer's targets are the first of what the one before made, and the last one's are the seeds. Else
  /// empty.
  std::vector<LayerEdges> layers;
  at::Tensor edge_index;  ///< i64 [2, E]: nodes of the block; undefined where nobody asks
  at::Tensor graph_ptr;   ///< i64 [G + 1]: nodes of graph g are graph_ptr[g] .. graph_ptr[g+1]-1; likewise
  at::Tensor items;       ///< i64 [items], the labelled nodes; undefined where items are graphs
  at::Tensor pairs;       ///< i64 [2, items], nodes that may have an edge; undefined where items are no pairs
  at::Tensor y;  ///< the labels of items: i64 [items] of graphs or labelled nodes, f32 [items] of pairs, 1
                 ///< or 0; undefined for nodes
  int64_t item_count = 0;

  /// Of each node the distinct IDs x[:, 0] of the nodes its stored edges point to, itself included where it
  /// has a self-loop, ascending: neighbour_ids[neighbour_ptr[n]] .. neighbour_ids[neighbour_ptr[n+1]-1].
  /// Undefined where nobody asks. i64 [N + 1] and i64 [E], of which what is after neighbour_ptr[N] is not
  /// set.
  at::Tensor neighbour_ptr;
  at::Tensor neighbour_ids;

  /// f32 [N], edges into each node but self-loops, or the sum of their weights where these are asked for,
  /// where the block does not have all of them; else undefined.
  at::Tensor degrees;

  at::Tensor teacher;  ///< f32 [graphs or nodes, W]: what a teacher says; undefined where none is asked
  at::Tensor targets;  ///< f32 [graphs or nodes, W]: numbers to be predicted, NaN where unknown; likewise

  at::Tensor pos;       ///< f32 [N, 3]: where nodes lie; undefined where nobody asks
  bool planar = false;  ///< all z of the data set are equal

  /// Where normalisation over the block leaves its statistics; null where nobody asks.
  std::shared_ptr<BlockStatistics> statistics;
  /// Whether layers keep their inputs alone and run again in backward (nn/recompute.h): less memory, more
  /// time, the same bits.
  bool recompute = false;

  // Keys of random numbers (base/philox.h).
  at::Tensor node_keys;    ///< i64 [3, N]: of each node the index of its graph in the data set, its number in
                           ///< the graph, and the graph's first stored edge; where layers have edges of
                           ///< their own of the nodes that they make alone
  at::Tensor graph_item;   ///< i64 [G]: index in the data set
  at::Tensor graph_local;  ///< i64 [G]: zeros

  /// The batch as it was read, where this one lies on a device (engine/blocks/device_blocks.h); null: this
  /// one.
  const Batch* on_host = nullptr;
  const Batch& read() const { return on_host != nullptr ? *on_host : *this; }

  /// visit(tensor) for each tensor that is defined.
  template <typename Visit>
  void each_tensor(const Visit& visit) {
    for (LayerEdges& layer : layers) visit(layer.order);
    for (at::Tensor* tensor : {&x, &row_place, &edge_attr, &edge_weight, &edge_order, &edge_index, &graph_ptr,
                               &items, &pairs, &y, &neighbour_ptr, &neighbour_ids, &degrees, &teacher,
                               &targets, &pos, &node_keys, &graph_item, &graph_local})
      if (tensor->defined()) visit(*tensor);
  }

  LayerEdges edges_of(size_t layer) const { return layers.empty() ? LayerEdges{edge_order} : layers[layer]; }
  int64_t nodes() const { return x.size(0); }
  int64_t graphs() const { return graph_item.size(0); }
  at::Tensor node_item() const { return node_keys.select(0, 0); }
  at::Tensor node_local() const { return node_keys.select(0, 1); }
};

}  // namespace plimsoll

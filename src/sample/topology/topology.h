#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "store/graph.h"

namespace plimsoll {

/// The neighbour list of a node: the edges first .. first + degree - 1.
struct EdgeRange {
  int64_t first = 0;
  int64_t degree = 0;
};

/// Columns of edges that are read beside their ends, in this order.
struct EdgeColumns {
  bool weight = false;    ///< edge_weight: one number
  bool features = false;  ///< edge_attr, where it is there: one or more
};

/// The edges of one giant graph, by way of the neighbour list of each node. An edge is known by its place in
/// `indices`, 0 .. edges()-1, and leads from the neighbour to the node whose list it is in. All is read in
/// batches, so that an implementation over a disk can sort and merge what is asked for, and one over memory
/// can fetch ahead. Any number of threads may call it at once.
/// Errors: InputError for a column that contradicts itself.
class Topology {
 public:
  virtual ~Topology() = default;

  virtual int64_t nodes() const = 0;
  virtual int64_t edges() const = 0;
  /// Whether edges have weights.
  virtual bool weighted() const = 0;

  /// lists[i] is the list of nodes[i]. Errors: UsageError for a node that is not in the graph.
  virtual void read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const = 0;
  /// neighbours[i] is the node that edges[i] comes from: 0 .. nodes()-1. `edges` are places within lists.
  virtual void read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const = 0;
  /// found[i]: 1 if nodes[i] is in lists[i], else 0. Lists ascend.
  virtual void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
                    std::span<uint8_t> found) const = 0;
  /// The weight of each edge, where weighted().
  virtual void read_weights(std::span<const int64_t> edges, std::span<float> weights) const = 0;

  /// Numbers that an edge has in the columns that were asked for; 0: none were.
  virtual int64_t edge_width() const { return 0; }
  /// These numbers of each edge: [edges, edge_width()]. Best read with edges that ascend.
  virtual void read_edge_values(std::span<const int64_t> /*edges*/, std::span<float> /*values*/) const {}
};

/// A graph in memory, or in a map: columns of others, which have to outlive it.
class CsrTopology final : public Topology {
 public:
  using Indices = std::variant<std::span<const uint32_t>, std::span<const int64_t>>;

  /// `indptr` [V+1] and `indices` [E] as in a `graph` data set; `weights` [E], or none.
  /// Errors: InputError for columns whose lengths contradict each other. What stands in them is checked
  /// where it is read.
  CsrTopology(std::span<const int64_t> indptr, Indices indices, std::span<const float> weights = {});

  int64_t nodes() const override { return static_cast<int64_t>(indptr_.size()) - 1; }
  int64_t edges() const override { return indptr_.back(); }
  bool weighted() const override { return !weights_.empty(); }
  void read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const override;
  void read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const override;
  void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
            std::span<uint8_t> found) const override;
  void read_weights(std::span<const int64_t> edges, std::span<float> weights) const override;

 private:
  std::span<const int64_t> indptr_;
  Indices indices_;
  std::span<const float> weights_;
};

/// The edges of a data set, which has to outlive them.
CsrTopology topology_of(const GraphView& graph);

}  // namespace plimsoll

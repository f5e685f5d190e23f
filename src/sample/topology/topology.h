#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "store/graph.h"

namespace plimsoll {

/// The neighbour list of a node: the edges first .. first + degree - 1.
struct EdgeRange {
  int64_t first = 0;
  int64_t degree = 0;
};

/// Selects the edge columns that read_edge_values() returns, in this order.
struct EdgeColumns {
  bool weight = false;    ///< edge_weight: one number.
  bool features = false;  ///< edge_attr, if the graph has this column: one or more numbers.
};

/// The edges of one giant graph, as the neighbour list of each node. An edge is identified by its index in
/// `indices`, 0 .. edges()-1, and leads from the neighbour to the node whose list contains it. All reads are
/// in batches, so that an implementation on disk can sort and merge reads, and an implementation in memory
/// can prefetch. Any number of threads may call it at once. Errors: InputError for inconsistent columns.
class Topology {
 public:
  virtual ~Topology() = default;

  virtual int64_t nodes() const = 0;
  virtual int64_t edges() const = 0;
  /// Returns whether edges have weights.
  virtual bool weighted() const = 0;

  /// Writes the list of nodes[i] to lists[i]. Errors: UsageError for a node that is not in the graph.
  virtual void read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const = 0;
  /// Writes the source of edges[i] to neighbours[i]. Every edge must be within a list.
  virtual void read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const = 0;
  /// Writes 1 to found[i] if nodes[i] is in lists[i], otherwise 0. Lists must ascend.
  virtual void find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
                    std::span<uint8_t> found) const = 0;
  /// Reads the weight of each edge. May be called only if weighted().
  virtual void read_weights(std::span<const int64_t> edges, std::span<float> weights) const = 0;

  /// Returns the numbers per edge in the requested columns; 0 if none were requested.
  virtual int64_t edge_width() const { return 0; }
  /// Reads the requested columns of each edge: [edges, edge_width()]. Fastest if edges ascend.
  virtual void read_edge_values(std::span<const int64_t> /*edges*/, std::span<float> /*values*/) const {}
};

/// A graph in memory or in a mapped file. It does not own its columns, which must outlive it.
class CsrTopology final : public Topology {
 public:
  using Indices = std::variant<std::span<const uint32_t>, std::span<const int64_t>>;

  /// `indptr` [V+1] and `indices` [E] as in a `graph` data set; `weights` [E], or empty. Neighbours are below
  /// `sources`, or below V if `sources` is not set. Errors: InputError if the lengths of the columns
  /// contradict each other. Their contents are checked when they are read.
  CsrTopology(std::span<const int64_t> indptr, Indices indices, std::span<const float> weights = {},
              std::optional<int64_t> sources = {});

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
  int64_t sources_;  // Neighbours are 0 .. sources_ - 1.
};

/// Returns the edges of a data set, which must outlive them.
CsrTopology topology_of(const GraphView& graph);

}  // namespace plimsoll

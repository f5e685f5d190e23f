#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "nn/linear.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The projections of a node type to keys and values. All edge types from it share them within a layer.
struct HgtSource {
  /// Adds PREFIX.k_lin.TYPE.* and PREFIX.v_lin.TYPE.*.
  HgtSource(ParameterList& parameters, const std::string& prefix, const std::string& type, int64_t channels);
  Linear key, value;
};

/// A layer of the heterogeneous graph transformer for the nodes of one type (Hu et al., WWW 2020), as PyG's
/// HGTConv computes it: one softmax per head over all edges into a node, whatever their types; GELU; a linear
/// layer; a share of the node's own input. Parameters: PREFIX.q_lin.TYPE.*, PREFIX.out_lin.TYPE.*,
/// PREFIX.skip.TYPE [1]; for each edge type PREFIX.k_rel.EDGE_TYPE and .v_rel.EDGE_TYPE [heads, D, D], and
/// .p_rel.EDGE_TYPE [1, heads]. PyG's kqv_lin is k_lin, q_lin and v_lin, and its k_rel has those of all heads
/// and edge types. A type without edge types is returned unchanged, without parameters.
class HgtConv {
 public:
  /// An edge type into the nodes: its name, its place among the orders, and that of its source type.
  struct EdgeType {
    std::string name;
    size_t order = 0;
    size_t source = 0;
  };

  /// `heads` is a divisor of `channels`.
  HgtConv(std::string type, int64_t channels, int64_t heads);
  /// Adds an edge type. `source` has the projections of its source type.
  void add_edges(ParameterList& parameters, const std::string& prefix, const EdgeType& edges,
                 const HgtSource& source);

  /// Maps the rows of the targets [T, channels] to [T, channels]. `h` has the rows of each node type,
  /// `orders` the edges of each edge type. Thread-safe.
  at::Tensor forward(const std::vector<at::Tensor>& h, const at::Tensor& targets,
                     const std::vector<at::Tensor>& orders) const;

 private:
  struct Relation {
    size_t order, source;
    HgtSource projections;
    at::Tensor k_rel, v_rel, p_rel;
  };

  at::Tensor project(const Linear& linear, const at::Tensor& relation, const at::Tensor& x) const;
  at::Tensor attend(const std::vector<at::Tensor>& h, const at::Tensor& query,
                    const std::vector<at::Tensor>& orders) const;

  std::string type_;
  int64_t channels_, heads_;
  std::vector<Relation> relations_;
  Linear query_, out_;
  at::Tensor skip_;
};

}  // namespace plimsoll

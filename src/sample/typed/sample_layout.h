#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// The node types and edge types that samples around seeds of one type can have, and the counts that describe
/// the size of a sample: nodes of each type, and edges of each type, within each number of hops of the seeds.
/// Types that cannot be reached are not part of the layout.
struct SampleLayout {
  /// A node type that is first reached in hop `first_hop`. Hop 0 consists of the seeds.
  struct Nodes {
    size_t type;  ///< Number of the type in the topology.
    size_t first_hop;
    size_t first_count;   ///< Index of the count of nodes within first_hop hops; the counts for more hops
                          ///< follow.
    int64_t numbers = 0;  ///< Numbers that a model reads for a node.
    std::vector<int64_t> vocabularies = {};  ///< Number of codes in each column of codes, including code 0.

    int64_t codes() const { return std::ssize(vocabularies); }
  };
  /// An edge type that is first sampled in hop `first_hop`, which is at least 1.
  struct Edges {
    size_t type;            ///< Number of the type in the topology.
    size_t source, target;  ///< Indices in `nodes`.
    size_t first_hop;
    size_t first_count;  ///< Same meaning as in Nodes.
  };
  size_t hops = 0;
  std::vector<Nodes> nodes = {};
  std::vector<Edges> edges = {};
  size_t seeds = 0;   ///< Index in `nodes` of the type of the seeds.
  size_t counts = 0;  ///< Number of counts that describe a sample.
  /// Index in `nodes` of the type whose nodes are recommended, if samples can have some of them.
  std::optional<size_t> destinations = {};

  /// Number of nodes without edges that a block has for each type except the type of the seeds, at the end of
  /// the type's first hop. With no rows or one row, torch's operators run other code, which needs different
  /// memory.
  static constexpr int64_t kPadding = 2;
  int64_t padding(const Nodes& node_type) const { return node_type.first_hop == 0 ? 0 : kPadding; }
  int64_t padding() const { return kPadding * (std::ssize(nodes) - 1); }
  /// Returns whether the sources of an edge type are the nodes that are recommended.
  bool leads_from_destinations(const Edges& edge_type) const { return destinations == edge_type.source; }
  /// Adds the padding of a block to the sums of its counts.
  void add_padding(std::span<int64_t> all) const {
    for (const Nodes& type : nodes)
      for (size_t hop = type.first_hop; hop <= hops; ++hop)
        all[type.first_count + hop - type.first_hop] += padding(type);
  }

  /// Returns the number of nodes, or of edges, of a type within `hop` hops in the sample with these counts.
  template <typename Type, typename Count>
  int64_t within(const Type& type, size_t hop, std::span<const Count> all) const {
    return hop < type.first_hop ? 0 : int64_t{all[type.first_count + hop - type.first_hop]};
  }
};

/// Returns the layout of samples of `hops` hops around seeds of a type. Types are in the order of the
/// topology. The caller sets `numbers`, `vocabularies` and `destinations`.
SampleLayout layout_of_samples(const TypedTopology& topology, size_t seed_type, size_t hops);

}  // namespace plimsoll

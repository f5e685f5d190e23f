#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// The node types and edge types that samples around seeds of one type can have, and the numbers that
/// describe the size of a sample: nodes of a type, and edges of a type, within some number of hops of the
/// seeds. Types that cannot be reached have no place in it.
struct SampleLayout {
  /// A node type that is reached in hop `first_hop` for the first time; hop 0 has the seeds.
  struct Nodes {
    size_t type;  ///< Its number in the topology.
    size_t first_hop;
    size_t first_count;   ///< Place of the count of nodes within first_hop hops; the other hops follow.
    int64_t numbers = 0;  ///< Numbers that a model reads of a node.
    std::vector<int64_t> vocabularies = {};  ///< Number of codes in each column of codes, with code 0.

    int64_t codes() const { return std::ssize(vocabularies); }
  };
  /// An edge type that is sampled in hop `first_hop`, at least 1, for the first time.
  struct Edges {
    size_t type;            ///< Its number in the topology.
    size_t source, target;  ///< Places in `nodes`.
    size_t first_hop;
    size_t first_count;  ///< As in Nodes.
  };
  size_t hops = 0;
  std::vector<Nodes> nodes = {};
  std::vector<Edges> edges = {};
  size_t seeds = 0;   ///< Place in `nodes` of the type of the seeds.
  size_t counts = 0;  ///< How many numbers describe a sample.

  /// Nodes without edges that a block has of each type but that of the seeds, at the end of its first hop.
  /// Operators of torch run other code for no row, or for one, whose memory differs.
  static constexpr int64_t kPadding = 2;
  int64_t padding(const Nodes& node_type) const { return node_type.first_hop == 0 ? 0 : kPadding; }
  int64_t padding() const { return kPadding * (std::ssize(nodes) - 1); }
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

/// Returns the layout of samples of this many hops around seeds of a type. Types are in the order of the
/// topology.
SampleLayout layout_of_samples(const TypedTopology& topology, size_t seed_type, size_t hops);

}  // namespace plimsoll

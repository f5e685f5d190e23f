#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/words.h"
#include "memory/vector.h"
#include "sample/neighbour/neighbour_choice.h"
#include "sample/neighbour/node_id_map.h"
#include "sample/typed/known_edges.h"
#include "sample/typed/typed_sample.h"
#include "sample/typed/typed_topology.h"

namespace plimsoll {

/// How edges are chosen among those that are known at the time of a seed.
enum class TemporalStrategy : uint8_t {
  uniform,  ///< All known edges are equally likely.
  last      ///< The latest edges are chosen. Without times of seeds, this is the same as uniform.
};
template <>
inline constexpr auto kWords<TemporalStrategy> = std::to_array<std::string_view>({"uniform", "last"});

/// Options of TypedSampler.
struct TypedOptions {
  /// [edge types][hops] Neighbours per node; -1 means all.
  std::vector<std::vector<int64_t>> fan_outs;
  bool replace = false;   ///< Whether an edge may be sampled more than once.
  bool weighted = false;  ///< Whether to sample by weight in the edge types that have weights.
  bool disjoint = false;  ///< Whether each seed has a separate subgraph; always true with times.
  TemporalStrategy strategy = TemporalStrategy::uniform;
  bool before = false;  ///< Whether edges at exactly the time of the seed are unknown.
  /// Maximum age of an edge relative to the seed, in the unit of times; older edges are not sampled.
  std::optional<int64_t> window = {};
};

/// Seeds of one type.
struct TypedSeeds {
  size_t type = 0;
  std::span<const int64_t> nodes;
  std::span<const int64_t> times = {};  ///< [nodes], or empty: all edges are known to these seeds.
};

/// Samples neighbours in a graph with types, hop by hop: for each edge type, and each node that the previous
/// hop reached first, up to a fan-out of neighbours. Nodes, edges and their order are those of pyg-lib's
/// hetero_neighbor_sample with csc = true.
///
/// A seed with a time sees only edges known at that time (KnownEdges), and has a separate subgraph.
///
/// The draws for a node are a function of (seed, epoch, type, node and time of the seed node, edge type,
/// node), where *seed node* has the same meaning as in NeighbourSampler. A node is expanded in only one hop,
/// so the hop is not part of the key. Threads, batches and the order of seeds have no influence in disjoint
/// subgraphs. In a graph with one node type, one edge type and no times, the sample equals that of
/// NeighbourSampler.
///
/// A seed that occurs twice becomes two nodes, each with its own copy of the same edges. If seeds share their
/// nodes, edges from this seed lead from the first of the two.
///
/// Use one sampler per thread, because it keeps scratch memory. The topology must outlive it.
class TypedSampler {
 public:
  /// Errors: UsageError unless there is one list of fan-outs for each edge type, all of the same length; for
  /// a fan-out below -1, or above 65536 with replacement; for a window below 0.
  TypedSampler(const TypedTopology& topology, TypedOptions options, uint64_t seed);

  /// Replaces `out` with the sample of these seeds, in which each type may occur once. They are numbered in
  /// this order. Errors: UsageError for a node or type that does not exist, for a type that occurs twice, for
  /// another number of times than of seeds, or for the time -2^63, which stands for a missing time;
  /// InputError for a damaged graph; BudgetExceeded.
  void sample(std::span<const TypedSeeds> seeds, uint32_t epoch, TypedSample& out);

  /// Returns the sizes that determine how much memory the sampler and the sample keep after the last call of
  /// sample(), in addition to nodes and edges: for each edge type, the number of edges for which space was
  /// allocated before the edges were chosen; then the maximum number of lists in a hop, the length of the
  /// longest list, and the maximum number of gaps in a list. Valid until the next call.
  std::span<const int64_t> scratch_sizes() const { return scratch_sizes_; }

 private:
  void begin(std::span<const TypedSeeds> seeds, uint32_t epoch, TypedSample& out);
  void add_seeds(const TypedSeeds& seeds, uint32_t epoch, TypedSample& out);
  void expand(size_t edge_type, size_t hop, TypedSample& out);
  void restrict_lists(size_t edge_type, size_t hop, const TypedSample::Nodes& targets);
  void choose(size_t edge_type, int64_t fan_out, TypedSample& out);
  int64_t choose_from(size_t edge_type, EdgeRange list, int64_t fan_out, size_t tree, int64_t node,
                      int64_t* to);
  void number(size_t edge_type, size_t first_edge, TypedSample& out);
  enum ScratchSize : size_t { kLists, kLongestList, kGaps, kScratchSizes };
  void raise(size_t place, size_t size);
  void raise(ScratchSize which, size_t size) { raise(topology_.edges().size() + which, size); }

  // The nodes of a type that a hop expands.
  struct Expanded {
    size_t first = 0;
    size_t end = 0;
  };

  const TypedTopology& topology_;
  TypedOptions options_;
  uint64_t seed_;
  bool is_timed_ = false;  // Whether seeds have times.
  KnownEdges known_;
  NeighbourChoice choice_;
  std::vector<NodeIdMap> tables_;         // One table per node type.
  std::vector<Expanded> expanded_;        // One entry per node type.
  Vector<uint64_t, Tag::blocks> keys_;    // Key of each seed.
  Vector<TimeSpan, Tag::blocks> spans_;   // Times at which edges are known to each seed.
  Vector<EdgeRange, Tag::blocks> lists_;  // Lists of the nodes that a hop expands.
  std::vector<int64_t> scratch_sizes_;
};

}  // namespace plimsoll

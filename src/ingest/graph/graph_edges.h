#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ingest/graph/edge_list.h"
#include "ingest/graph/graph_scratch.h"
#include "ingest/graph/node_index.h"
#include "ingest/text/unique_texts.h"
#include "store/graph.h"

namespace plimsoll {

/// How self-loops are treated. `add` adds one to each node that has none.
enum class SelfLoops : uint8_t { keep, drop, add };
template <>
inline constexpr auto kWords<SelfLoops> = std::to_array<std::string_view>({"keep", "drop", "add"});

/// Transformations of edges.
struct EdgeRules {
  bool out = false;  ///< A node's row has the targets of its outgoing edges instead of the sources of its
                     ///< incoming edges.
  bool undirected = false;  ///< Add each edge in both directions.
  bool dedup = false;       ///< Keep only the first of all edges with the same ends.
  SelfLoops loops = SelfLoops::keep;
  bool weight = false;  ///< Whether the first value of an edge is its weight.
  size_t features = 0;  ///< Number of values other than the weight.

  size_t values() const { return features + (weight ? 1 : 0); }
};

/// The key of an edge in the sort by row and neighbour. Both are nodes, below 2^32.
inline uint64_t edge_key(uint64_t row, uint64_t neighbour) {
  return row << 32 | neighbour;
}

/// Adds the IDs of all ends to `ids` if they are numbers, otherwise to `texts`. The unused one may be null.
void gather_ends(const EdgeBatch& edges, ExternalSort* ids, UniqueTexts* texts);

/// Sorts edges by row and, within a row, by neighbour. Edges with the same ends stay in input order. Needs
/// three sorts, or one if the IDs are the nodes. Not thread-safe. Errors of all members: those of
/// ExternalSort and of scratch.tick().
class GraphEdges {
 public:
  /// `direct` is true if the IDs in the edges are the nodes. `max` is the expected maximum number of edges,
  /// without reverse edges.
  GraphEdges(GraphScratch scratch, EdgeRules rules, bool direct, int64_t max);

  /// Adds edges, which must have rules.values() values each, as the rules say: also in reverse, or without
  /// self-loops.
  void add(const EdgeBatch& edges);
  /// Adds `edges` edges that write_run() of another object wrote to a file, starting at byte `begin`.
  void take_run(const std::filesystem::path& path, int64_t begin, int64_t edges);
  /// Must be called after all edges have been added.
  void seal();
  /// Writes the result of the first sort in the format of take_run(). Call it after seal().
  void write_run(const std::function<void(std::span<const std::byte>)>& write) const;
  /// Deletes the files of the first sort.
  void remove() { first_sort().remove(); }
  /// Calls take() for each ID, in ascending order, with the number of edges that have it as a neighbour. Must
  /// not be called if `direct`.
  void count_neighbours(const std::function<void(uint64_t id, uint64_t edges)>& take) const;
  /// Replaces IDs with nodes, unless they are nodes already. Call it once, after seal(). Throws
  /// UnknownId, which is not an Error.
  void relabel(const NodeIndex& index);
  /// Renumbers the nodes: `index` maps each node to its new number. Call it after relabel().
  void renumber(const NodeIndex& index);
  /// Writes indptr and indices in the same way as write(). Errors: also those of write().
  void write_topology(int64_t nodes, GraphWriter& writer) const;
  /// Writes indptr, indices and the values of edges; must be the last call. `progress` gets the number of
  /// edges that were read. Errors: also InputError (an edge of a node from `nodes` on, as in a damaged
  /// shard).
  void write(int64_t nodes, GraphWriter& writer, const std::function<void(int64_t)>& progress);

  /// Reads the edges in order: the key is edge_key(), the payload are the values. Valid after relabel().
  ExternalSort::Reader read() const { return sorted_->read(); }

  /// Number of edges including reverse edges, without the self-loops that write() adds.
  int64_t added() const { return added_; }

 private:
  void add(uint64_t row, uint64_t neighbour, const void* values);
  ExternalSort& first_sort() const { return direct_ ? *sorted_ : *by_neighbour_; }
  std::unique_ptr<ExternalSort> sort_by_neighbour(int64_t max) const;
  void write_rows(const EdgeRules& rules, int64_t nodes, GraphWriter& writer,
                  const std::function<void(int64_t)>& progress) const;

  GraphScratch scratch_;
  EdgeRules rules_;
  bool direct_;
  std::unique_ptr<ExternalSort> by_neighbour_;  // Key: ID of the neighbour. Payload: ID of the row, values.
  std::unique_ptr<ExternalSort> sorted_;        // Key: row and neighbour. Payload: values.
  std::vector<std::byte> record_;
  int64_t added_ = 0;
};

}  // namespace plimsoll

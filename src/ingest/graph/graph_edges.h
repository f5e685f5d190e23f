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

/// What is done with edges on their way.
struct EdgeRules {
  enum class Loops { keep, drop, add };
  bool out = false;         ///< a row holds the targets of its node's edges; else the sources
  bool undirected = false;  ///< each edge both ways
  bool dedup = false;       ///< of edges with the same ends the first alone
  Loops loops = Loops::keep;
  bool weight = false;  ///< the first value of an edge is its weight
  size_t features = 0;  ///< the other values

  size_t values() const { return features + (weight ? 1 : 0); }
};

/// Adds the IDs of all ends to those of two that are there: numbers to `ids`, texts to `texts`.
void gather_ends(const EdgeBatch& edges, ExternalSort* ids, UniqueTexts* texts);

/// Edges on their way from the order of the input to that of rows and neighbours; those with the same ends
/// stay in the order of the input. Three sorts, or one where IDs are nodes already. Not thread-safe.
class GraphEdges {
 public:
  /// `direct`: the IDs of edges are the nodes. `most` edges can come.
  GraphEdges(GraphScratch scratch, EdgeRules rules, bool direct, int64_t max);

  void add(const EdgeBatch& edges);
  /// Adds `edges` stored ones as write_run() of another wrote them, from byte `begin` of a file on.
  void take_run(const std::filesystem::path& path, int64_t begin, int64_t edges);
  /// All have been added.
  void seal();
  /// Gives what the first sort made, after seal(), for take_run().
  void write_run(const std::function<void(std::span<const std::byte>)>& write) const;
  /// Deletes what the first sort has on disk.
  void remove() { first_sort().remove(); }
  /// For each ID, ascending, how many edges have it as a neighbour; not where `direct`.
  void count_neighbours(const std::function<void(uint64_t id, uint64_t edges)>& take) const;
  /// Puts nodes for IDs, unless they are nodes already. Throws UnknownId.
  void relabel(const NodeIndex& index);
  /// Puts other numbers for the nodes that stand for IDs now.
  void renumber(const NodeIndex& index);
  /// Writes indptr and indices as write() would.
  void write_topology(int64_t nodes, GraphWriter& writer) const;
  /// Writes indptr, indices and the values of edges; to be called last.
  void write(int64_t nodes, GraphWriter& writer, const std::function<void(int64_t)>& progress);

  int64_t added() const { return added_; }  ///< stored each way, without the loops to be added

 private:
  void add(uint64_t row, uint64_t neighbour, const void* values);
  ExternalSort& first_sort() const { return direct_ ? *sorted_ : *by_neighbour_; }
  std::unique_ptr<ExternalSort> sort_by_neighbour(int64_t max) const;
  void write_rows(const EdgeRules& rules, int64_t nodes, GraphWriter& writer,
                  const std::function<void(int64_t)>& progress) const;

  GraphScratch scratch_;
  EdgeRules rules_;
  bool direct_;
  std::unique_ptr<ExternalSort> by_neighbour_;  // ID of the neighbour; ID of the row, values
  std::unique_ptr<ExternalSort> sorted_;        // row and neighbour; values
  std::vector<std::byte> record_;
  int64_t added_ = 0;
};

}  // namespace plimsoll

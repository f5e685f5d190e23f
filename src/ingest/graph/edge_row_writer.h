#pragma once

#include <cstdint>
#include <span>

#include "ingest/graph/graph_edges.h"
#include "ingest/graph/graph_scratch.h"
#include "store/graph.h"

namespace plimsoll {

/// Collects the rows and edges of a graph, adds missing self-loops if the rules say so, and writes them in
/// chunks. Not thread-safe. Errors: Failure (disk), BudgetExceeded, those of scratch.tick().
class EdgeRowWriter {
 public:
  /// `rules`, `writer` and `scratch` must outlive this object. `nodes` is the number of rows.
  EdgeRowWriter(GraphWriter& writer, const EdgeRules& rules, int64_t nodes, const GraphScratch& scratch);

  /// Adds an edge with rules.values() values. Edges must be added in the order of rows and neighbours.
  void add(int64_t row, uint32_t neighbour, const float* values) {
    while (row_ < row) end_row();
    if (rules_.loops == SelfLoops::add && !looped_ && neighbour >= row_) {
      looped_ = true;
      if (neighbour > row_) put(static_cast<uint32_t>(row_), loop_.data());
    }
    put(neighbour, values);
  }
  /// Adds whole rows of another graph, the rows from `row` on, without adding self-loops. `ends` has the edge
  /// at which each row ends, as the other graph counts edges, and `first` is the edge at which the first row
  /// starts. `neighbours` [n] are the edges of these rows, as nodes of this graph. `weights` [n] and
  /// `features` [n, K] are their values, empty if `rules` have none.
  void add_rows(int64_t row, std::span<const int64_t> ends, int64_t first,
                std::span<const uint32_t> neighbours, std::span<const float> weights,
                std::span<const float> features);
  /// Ends the last rows and writes what is left.
  void finish();

 private:
  static constexpr size_t kChunk = 16384;          // Maximum edges or rows that are written at once.
  static constexpr size_t kNumbers = 16 * kChunk;  // Maximum features of these edges, unless one has more.

  void end_row();
  void put(uint32_t neighbour, const float* values) {
    indices_.push_back(neighbour);
    if (rules_.weight) weights_.push_back(*values++);
    if (rules_.features > 0) features_.insert(features_.end(), values, values + rules_.features);
    ++edges_;
    if (indices_.size() == chunk_) flush_edges();
  }
  void flush_edges();
  void flush_rows();

  GraphWriter& writer_;
  const EdgeRules& rules_;
  int64_t nodes_;
  const GraphScratch& scratch_;
  size_t chunk_;                     // Edges that are written at once.
  Vector<float, Tag::output> loop_;  // Values of an added self-loop: weight 1, features 0.
  int64_t row_ = 0;
  bool looped_ = false;
  int64_t edges_ = 0;
  Vector<uint32_t, Tag::output> indices_;
  Vector<int64_t, Tag::output> ends_;
  Vector<float, Tag::output> weights_, features_;
};

}  // namespace plimsoll

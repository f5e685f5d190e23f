#pragma once

#include <span>

#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// A source that adds stored teacher outputs to its graphs, as GraphBlock::teacher. Thread-safe if the
/// underlying source is.
class CachedTeacher : public BlockSource {
 public:
  /// Rows of `width` numbers each: one per graph of a list, or one per node of these graphs.
  struct Column {
    std::span<const float> values;  ///< Empty for planning; outputs are then zero.
    int64_t width = 0;
    bool of_nodes = false;
  };

  /// `graphs` is the list, in the order of the column's rows; other graphs cannot be read. `shapes` has one
  /// entry per graph of the source. All arguments except `graphs` must outlive this object. Errors:
  /// InputError for a column of another length.
  CachedTeacher(const BlockSource& source, const Column& column, std::span<const int64_t> graphs,
                std::span<const GraphShape> shapes);

  int64_t graphs() const override { return source_.graphs(); }
  int64_t node_features() const override { return source_.node_features(); }
  int64_t edge_features() const override { return source_.edge_features(); }
  RowWidths widths() const override { return with_teacher(source_.widths()); }
  RowWidths room() const override { return with_teacher(source_.room()); }
  const GraphSetTables& tables() const override { return source_.tables(); }
  /// Errors: Failure for a graph that is not in the list.
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override { source_.will_need(graphs); }

 private:
  RowWidths with_teacher(RowWidths widths) const;
  const BlockSource& source_;
  Column column_;
  std::span<const GraphShape> shapes_;
  // First row of each graph of the source; -1 if the graph is not in the list.
  GraphList first_row_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sample/block/block.h"

namespace plimsoll {

/// The columns of a table in the order in which a model reads them.
class ColumnOrder {
 public:
  /// Leaves columns in their order.
  ColumnOrder() = default;
  /// Orders columns called `found` as `expected`. Columns keep their order if either list is empty or
  /// contains only the generated names that `plimsoll ingest` gives to columns without names (are_numbers()).
  /// Errors: InputError with both lists, which calls the columns `what`, if their names differ.
  ColumnOrder(const std::vector<std::string>& expected, const std::vector<std::string>& found,
              const std::string& what);

  bool changes() const { return !columns_.empty(); }
  /// Orders the columns of whole rows, [rows, columns], in place.
  void apply(std::span<float> rows) const;

 private:
  std::vector<size_t> columns_;  // The column of the data for each column of the model; empty if the order is
                                 // the same.
};

/// Returns whether names are feature_0, feature_1 and so on, possibly after edge_weight; columns without
/// names get such names. Returns true for an empty list.
bool are_numbers(const std::vector<std::string>& names);

/// Returns names in quotes, separated by commas: at most eight, then the number of further names.
std::string names_in_words(const std::vector<std::string>& names);

/// The orders of the columns of nodes and of edges.
struct FeatureOrder {
  ColumnOrder nodes;
  ColumnOrder edges;
};

/// A source whose blocks have their columns in another order.
class OrderedFeatures : public BlockSource {
 public:
  OrderedFeatures(std::unique_ptr<BlockSource> source, FeatureOrder order)
      : source_(std::move(source)), order_(std::move(order)) {}

  int64_t graphs() const override { return source_->graphs(); }
  int64_t node_features() const override { return source_->node_features(); }
  int64_t edge_features() const override { return source_->edge_features(); }
  RowWidths widths() const override { return source_->widths(); }
  RowWidths room() const override { return source_->room(); }
  const GraphSetTables& tables() const override { return source_->tables(); }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override { source_->will_need(graphs); }

 private:
  std::unique_ptr<BlockSource> source_;
  const FeatureOrder order_;
};

}  // namespace plimsoll

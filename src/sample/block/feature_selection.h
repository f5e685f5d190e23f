#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sample/block/block.h"

namespace plimsoll {

/// The columns of a feature table that are kept when some columns are removed. If `id_index`, the first
/// column, is to be removed, it is set to 0 instead, so that no graph reveals which ID is which.
class KeptColumns {
 public:
  KeptColumns() = default;
  /// `names` has the names of the `width` columns, or of the first of them; the constructor erases the names
  /// of removed columns.
  KeptColumns(std::vector<std::string>& names, int64_t width, const std::vector<std::string>& without);

  /// Removes all columns that are not kept from `rows`, in place.
  void keep(Vector<float, Tag::blocks>& rows) const;
  int64_t count() const { return static_cast<int64_t>(kept_.size()); }

 private:
  size_t width_ = 0;
  std::vector<size_t> kept_;  // Indices of the kept columns, ascending.
  bool without_id_ = false;   // Whether column 0 is set to 0.
};

/// Throws UsageError for a name that is not a feature of nodes or edges.
void require_known_features(const GraphSetTables& tables, const std::vector<std::string>& without);

/// A source without some of its features: their columns are removed (KeptColumns).
class FeatureSelection : public BlockSource {
 public:
  /// `without` names features of nodes or edges; a name that both have is removed from both. Errors:
  /// UsageError for a name that the source does not have, or if no node feature is left.
  FeatureSelection(std::unique_ptr<BlockSource> source, const std::vector<std::string>& without);

  int64_t graphs() const override { return source_->graphs(); }
  int64_t node_features() const override { return nodes_.count(); }
  int64_t edge_features() const override { return edges_.count(); }
  RowWidths widths() const override;
  RowWidths room() const override { return source_->room(); }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override { source_->will_need(graphs); }

 private:
  std::unique_ptr<BlockSource> source_;
  GraphSetTables tables_;
  KeptColumns nodes_;
  KeptColumns edges_;
};

}  // namespace plimsoll

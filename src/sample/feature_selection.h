#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sample/block.h"

namespace plimsoll {

/// A source without some of its features: their columns are not there. The column `id_index`, which other
/// columns count from, stays and is 0: no graph tells which ID is which.
class FeatureSelection : public BlockSource {
 public:
  /// `without` names features of nodes or edges; a name that both have goes from both. Errors: UsageError for
  /// a name that the source does not have, or when no node feature is left.
  FeatureSelection(std::unique_ptr<BlockSource> source, const std::vector<std::string>& without);

  int64_t graphs() const override { return source_->graphs(); }
  int64_t node_features() const override { return static_cast<int64_t>(nodes_.kept.size()); }
  int64_t edge_features() const override { return static_cast<int64_t>(edges_.kept.size()); }
  RowWidths room() const override { return source_->room(); }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override { source_->will_need(graphs); }

 private:
  // The columns of a table that stay, ascending.
  struct Columns {
    size_t width = 0;  // of the source
    std::vector<size_t> kept = {};
    bool without_id = false;  // column 0 is written as 0
    void keep(Vector<float, Tag::blocks>& rows) const;
  };
  static Columns columns(std::vector<std::string>& names, int64_t width,
                         const std::vector<std::string>& without);

  std::unique_ptr<BlockSource> source_;
  GraphSetTables tables_;
  Columns nodes_;
  Columns edges_;
};

}  // namespace plimsoll

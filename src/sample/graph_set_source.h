#pragma once

#include <filesystem>

#include "sample/block.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Blocks of graphs from a `graph_set` on disk.
class GraphSetSource : public BlockSource {
 public:
  explicit GraphSetSource(const std::filesystem::path& folder) : view_(folder) {}

  int64_t graphs() const override { return view_.graphs().graphs(); }
  int64_t node_features() const override { return view_.node_features(); }
  int64_t edge_features() const override { return view_.edge_features(); }
  const GraphSetTables& tables() const override { return view_.tables(); }
  /// Errors: InputError for a graph whose pointers or edges point outside it.
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override;

  const DataSetView& set() const { return view_.set(); }

 private:
  GraphSetView view_;
};

}  // namespace plimsoll

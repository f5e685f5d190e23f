#pragma once

#include <filesystem>

#include "sample/block/block.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Which numbers of a `graph_set` are to be predicted.
enum class Targets { none, graphs, nodes };

/// What blocks of a `graph_set` have beside its features and classes.
struct GraphColumnsAsked {
  Targets targets = Targets::none;  ///< in place of classes of nodes
  bool positions = false;           ///< where nodes lie
};

/// Blocks of graphs from a `graph_set` on disk.
class GraphSetSource : public BlockSource {
 public:
  /// Positions are read once. Errors: InputError where the set lacks what is asked for, or features of nodes,
  /// which names what adds it, or where a position is no number.
  explicit GraphSetSource(const std::filesystem::path& folder, const GraphColumnsAsked& asked = {});

  int64_t graphs() const override { return view_.graphs().graphs(); }
  int64_t node_features() const override { return view_.node_features(); }
  int64_t edge_features() const override { return view_.edge_features(); }
  RowWidths widths() const override;
  const GraphSetTables& tables() const override { return view_.tables(); }
  /// Errors: InputError for a graph whose pointers or edges point outside it.
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override;

  const DataSetView& set() const { return view_.set(); }

 private:
  GraphSetView view_;
  /// Whether all z are equal. Errors: InputError that names the first node that lies nowhere.
  bool is_planar() const;

  const GraphColumnsAsked asked_;
  bool planar_ = false;
};

}  // namespace plimsoll

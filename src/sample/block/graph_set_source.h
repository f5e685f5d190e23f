#pragma once

#include <filesystem>

#include "sample/block/block.h"
#include "store/graph_set.h"

namespace plimsoll {

/// The regression targets of a `graph_set` that blocks contain.
enum class Targets { none, graphs, nodes };

/// Columns of a `graph_set` that blocks contain in addition to features and classes.
struct GraphColumnsAsked {
  Targets targets = Targets::none;  ///< Node targets replace the classes of nodes.
  bool positions = false;           ///< Positions of the nodes.
};

/// Blocks of graphs from a `graph_set` on disk.
class GraphSetSource : public BlockSource {
 public:
  /// Opens the set, and reads all positions once if they are requested. Errors: InputError if the set lacks a
  /// requested column or node features (the message says how to add them), or if a position is not finite.
  explicit GraphSetSource(const std::filesystem::path& folder, const GraphColumnsAsked& asked = {});

  int64_t graphs() const override { return view_.graphs().graphs(); }
  int64_t node_features() const override { return view_.node_features(); }
  int64_t edge_features() const override { return view_.edge_features(); }
  RowWidths widths() const override;
  const GraphSetTables& tables() const override { return view_.tables(); }
  /// Same as BlockSource::read(). Errors: InputError for a graph whose pointers or edges point outside it.
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  void will_need(std::span<const int64_t> graphs) const override;

  const DataSetView& set() const { return view_.set(); }

 private:
  GraphSetView view_;
  /// Returns whether all z coordinates are equal. Errors: InputError that names the first node without a
  /// position.
  bool is_planar() const;

  const GraphColumnsAsked asked_;
  bool planar_ = false;
};

}  // namespace plimsoll

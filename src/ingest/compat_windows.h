#pragma once

#include "ingest/windows.h"

namespace plimsoll {

/// The published KD-GAT window graphs, bit for bit in float32, faults included (docs/compat-features.md has
/// the rules and their source). A row pairs a frame with the next one; rows are made in chunks of 5000
/// frames, and each chunk loses its last frame. A window is `window` rows of one recording; nodes are the
/// distinct ID indices of its rows, edges the distinct pairs.
class CompatWindows : public WindowSource {
 public:
  static constexpr int64_t kNodeFeatures = 11;
  static constexpr int64_t kEdgeFeatures = 11;

  CompatWindows(const FramesView& frames, const WindowOptions& options, Vocabulary vocabulary);

  int64_t graphs() const override { return graphs_; }
  int64_t node_features() const override { return kNodeFeatures; }
  int64_t edge_features() const override { return kEdgeFeatures; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  FrameSpans frames(int64_t graph) const override;

 private:
  struct Rows;     // the rows of one window
  struct Builder;  // scratch memory for making graphs, one a call
  Rows rows(int64_t graph) const;

  const FramesView& frames_;
  WindowOptions options_;
  Vocabulary vocabulary_;
  GraphSetTables tables_;
  int64_t graphs_ = 0;
};

}  // namespace plimsoll

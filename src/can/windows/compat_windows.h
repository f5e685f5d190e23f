#pragma once

#include "can/windows/compat_graph.h"
#include "can/windows/windows.h"

namespace plimsoll {

/// The published KD-GAT window graphs, bit for bit in float32, faults included (docs/compat-features.md has
/// the rules and their source). A row pairs a frame with the next one; rows are made in chunks of 5000
/// frames, and each chunk loses its last frame. A window is `window` rows of one recording; nodes are the
/// distinct ID indices of its rows, and edges are the distinct pairs.
class CompatWindows : public WindowSource {
 public:
  /// `frames` must outlive it.
  CompatWindows(const FramesView& frames, const WindowOptions& options, Vocabulary vocabulary);

  int64_t graphs() const override { return graphs_; }
  int64_t node_features() const override { return CompatGraph::kNodeFeatures; }
  int64_t edge_features() const override { return CompatGraph::kEdgeFeatures; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  FrameSpans frames(int64_t graph) const override;
  MessageKeys node_ids(int64_t graph) const override;

  /// Number of windows of a recording of `frames` frames.
  static int64_t count(int64_t frames, const WindowOptions& options);

 private:
  CompatRows rows(int64_t graph) const;

  const FramesView& frames_;
  WindowOptions options_;
  Vocabulary vocabulary_;
  Charge charge_{Tag::columns};  // Charge of the table of recordings.
  GraphSetTables tables_;
  int64_t graphs_ = 0;
};

}  // namespace plimsoll

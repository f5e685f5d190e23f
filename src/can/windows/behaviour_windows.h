#pragma once

#include "can/windows/behaviour_graph.h"
#include "can/windows/windows.h"

namespace plimsoll {

/// Window graphs that keep every frame and describe IDs by their behaviour (docs/behaviour-features.md). A
/// window consists of consecutive frames of one recording: either a fixed number, with a shorter last window
/// if necessary, or all frames of a time span, possibly none. Nodes are the distinct raw IDs, and overdue
/// IDs. Edges are the distinct pairs of IDs that follow each other within the window. With
/// options.calibration each recording is compared with a profile of its own first benign windows, not with
/// `profile`, and `id_index` is 0 because indices of one vehicle mean nothing on another.
class BehaviourWindows : public WindowSource {
 public:
  /// `frames` must outlive it. Throws InputError for windows by time of a recording that has no times, that
  /// has more than kMaxWindows windows per frame, or that has more than BehaviourGraph::kMaxFrames frames in
  /// a window.
  BehaviourWindows(const FramesView& frames, const WindowOptions& options, BehaviourProfile profile);

  static constexpr int64_t kMaxWindows = 64;
  /// Number of windows that cover a recording of this length; the last one may extend beyond its end. All
  /// arguments are in frames, or all are in nanoseconds.
  static int64_t count(int64_t length, int64_t window, int64_t stride);

  int64_t graphs() const override { return graphs_; }
  int64_t node_features() const override { return BehaviourGraph::kNodeFeatures; }
  int64_t edge_features() const override { return BehaviourGraph::kEdgeFeatures; }
  const GraphSetTables& tables() const override { return tables_; }
  void read(std::span<const int64_t> graphs, GraphBlock& block) const override;
  FrameSpans frames(int64_t graph) const override;
  std::vector<FrameStatistics> frame_statistics(std::span<const int64_t> graphs,
                                                FrameScorers& scorers) const override;
  int64_t look_ahead(const Recording& recording) const override {
    return ExtraFrames::look_ahead(profile_of(recording), recording);
  }
  int64_t scorer_bytes() const override;
  MessageKeys node_ids(int64_t graph) const override;

  std::span<const int64_t> calibration() const override { return calibration_; }
  NamedTensors learned() const override { return profile_.tensors(); }

  const BehaviourProfile& profile() const { return profile_; }

 private:
  // First and end frame of a window by time, counted from the first frame of the set.
  struct Cut {
    int64_t first;
    int64_t end;
  };
  FrameWindow window(int64_t graph) const;
  int64_t cut_by_time(const Recording& recording);
  void calibrate();
  const BehaviourProfile& profile_of(const Recording& recording) const;

  const FramesView& frames_;
  WindowOptions options_;
  BehaviourProfile profile_;
  // Profile of each recording; entries may be null; empty without calibration.
  std::vector<std::shared_ptr<const BehaviourProfile>> own_profiles_;
  Vector<int64_t, Tag::columns> calibration_;
  Vector<Cut, Tag::columns> cuts_;  // Indexed by graph; empty if windows count frames.
  Charge charge_{Tag::columns};     // Charge of the table of recordings.
  GraphSetTables tables_;
  int64_t graphs_ = 0;
};

}  // namespace plimsoll

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "can/recipe/windows.h"
#include "can/score/frame_scorers.h"
#include "sample/block/block.h"
#include "store/shard.h"

namespace plimsoll {

/// The calibration windows from which a recording's profile is learned: all of them, or one half, so that the
/// other half can be evaluated with this profile.
enum class CalibrationFold : uint8_t { all, first_half, second_half };

/// Whether each recording is compared with its own benign traffic (docs/detection.md#calibration).
struct Calibration {
  int64_t windows = 0;  ///< Maximum number of calibration windows at the start of a recording; 0: every
                        ///< recording is compared with the profile of the training splits.
  CalibrationFold fold = CalibrationFold::all;
  /// Number of windows between the halves that belong to neither, so that the halves share no frames.
  int64_t gap = 0;
};

/// How frames are cut into windows and described.
struct WindowOptions {
  WindowFeatures features = WindowFeatures::compat;
  int64_t window = 100;
  int64_t stride = 100;
  WindowUnit unit = WindowUnit::frames;  ///< Unit of window and stride; compat only supports frames.
  LearnFrom learn_from = {};             ///< Recordings from which vocabulary and profile are learned.
  Calibration calibration = {};          ///< Only for behaviour features.
};

/// Throws UsageError for a window or a stride out of range, and for compat windows by time or with
/// calibration.
void check_window_options(const WindowOptions& options);

/// The names of node and edge features of such graphs, without anything that depends on data.
GraphSetTables feature_tables(WindowFeatures features);

/// Graphs of windows, made on the fly from a `frames` set: one graph per window, in the order of recordings
/// and time.
class WindowSource : public BlockSource {
 public:
  /// The profile that windows are compared with, as tensors of a model file; empty for compat graphs.
  virtual NamedTensors learned() const { return {}; }
  /// The graphs that calibrated profiles are learned from, ascending.
  virtual std::span<const int64_t> calibration() const { return {}; }
  /// The consecutive frames that a window looks at.
  virtual FrameSpans frames(int64_t graph) const = 0;
  /// Statistics of the frames of these windows, which are in ascending order. A statistic is 0 if the profile
  /// does not have the model that it needs, and all are 0 for compat graphs. `scorers` continues from the
  /// previous windows.
  virtual std::vector<FrameStatistics> frame_statistics(std::span<const int64_t> graphs,
                                                        FrameScorers& /*scorers*/) const {
    return std::vector<FrameStatistics>(graphs.size());
  }
  /// Number of frames after a window of this recording that its result also depends on, if the recording has
  /// them.
  virtual int64_t look_ahead(const Recording& /*recording*/) const { return 0; }
  /// Maximum bytes that one FrameScorers keeps.
  virtual int64_t scorer_bytes() const { return 0; }
  /// The message of each node of a window's graph. The single node of unknown IDs in a compat graph gets the
  /// first of them.
  virtual MessageKeys node_ids(int64_t graph) const = 0;
};

/// Vocabulary and benign profile of the data that a model was trained on.
struct TrainedContext {
  MessageIds vocabulary = {};
  /// For behaviour features; its vocabulary is that of the windows.
  std::optional<BehaviourProfile> profile = {};
};

/// Opens the windows of a set. Members that `known` lacks are learned from the recordings selected by
/// options.learn_from: for compat features a vocabulary of all their frames, for behaviour features the
/// vocabulary and the benign profile of the frames labelled 0. The set must outlive the source. Throws
/// UsageError as check_window_options() does, for compat windows of merged channels, and if a split of
/// options.learn_from does not exist. Throws InputError as BehaviourWindows does, if no vocabulary or profile
/// can be learned, and if channels are merged in only one of the set and `known.profile`.
std::unique_ptr<WindowSource> open_windows(const FramesView& frames, const WindowOptions& options,
                                           TrainedContext known = {});

/// Writes the graphs of a source, or those of a shard, to a `graph_set`, in blocks on `threads` threads. Uses
/// smaller blocks and fewer threads if the budget is too small; the bytes written do not depend on them.
/// `progress`, which must not be null, gets the number of graphs written and the total; it is called by one
/// thread at a time. Errors: BudgetExceeded if not even a single graph fits; those of the source; Failure if
/// the disk cannot be used or the output exists.
void write_graph_set(const BlockSource& source, const std::filesystem::path& out, bool force,
                     const Json& provenance, int threads,
                     const std::function<void(int64_t, int64_t)>& progress, const Shard& shard = {});

/// The ID rule, which needs no training: returns for each graph [G] 1 if its window holds a message that is
/// not in `known`, otherwise 0. `windows` must be those of `frames`.
Vector<uint8_t, Tag::columns> unknown_id_rule(const FramesView& frames, const WindowSource& windows,
                                              const MessageIds& known);

}  // namespace plimsoll

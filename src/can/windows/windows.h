#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "can/score/frame_judges.h"
#include "config/window_length.h"
#include "sample/block/block.h"
#include "store/shard.h"

namespace plimsoll {

/// Which of its calibration windows a recording's profile is learned from: all of them, or one half, so that
/// the other can be judged by it.
enum class CalibrationFold : uint8_t { all, first_half, second_half };

/// Whether each recording is compared with benign traffic of its own (docs/detection.md#calibration).
struct Calibration {
  int64_t windows = 0;  ///< at its begin, at most; 0: all are compared with what the training splits teach
  CalibrationFold fold = CalibrationFold::all;
  /// Between the halves: number of windows that neither has, so that they share no frames.
  int64_t gap = 0;
};

/// How frames are cut into windows and described.
struct WindowOptions {
  std::string features = "compat";
  int64_t window = 100;
  int64_t stride = 100;
  WindowUnit unit = WindowUnit::frames;  ///< of both; compat counts frames
  LearnFrom learn_from = {};             ///< for vocabulary and profile
  Calibration calibration = {};          ///< for behaviour
};

/// Errors: UsageError (unknown features, window below 2, stride below 1, compat by time).
void check_window_options(const WindowOptions& options);

/// The names of what stands beside nodes and edges in such graphs; nothing of any data.
GraphSetTables feature_tables(const std::string& features);

/// Graphs of windows, made on the fly from a `frames` set: one graph a window, in the order of recordings and
/// time.
class WindowSource : public BlockSource {
 public:
  /// What the windows were compared with, as tensors of a model file.
  virtual NamedTensors learned() const { return {}; }
  /// The graphs that calibrated profiles are learned from, ascending.
  virtual std::span<const int64_t> calibration() const { return {}; }
  /// The consecutive frames that a window looks at.
  virtual FrameSpans frames(int64_t graph) const = 0;
  /// What the frames of these windows say, ascending; 0 where the profile they are compared with cannot tell.
  /// `judges` go on from the windows before.
  virtual std::vector<FrameStatistics> frame_statistics(std::span<const int64_t> graphs,
                                                        FrameJudges& /*judges*/) const {
    return std::vector<FrameStatistics>(graphs.size());
  }
  /// How many frames after a window of this recording they look at, where the recording has them: the verdict
  /// on the window waits for these.
  virtual int64_t look_ahead(const Recording& /*recording*/) const { return 0; }
  /// Bytes that one FrameJudges keeps at most.
  virtual int64_t judges_bytes() const { return 0; }
  /// The message of each node of a window's graph; of compat, whose unknown IDs are one node, the first of
  /// them.
  virtual MessageKeys node_ids(int64_t graph) const = 0;
};

/// What a trained model knows of the data it was trained on.
struct LearnedBefore {
  MessageIds vocabulary = {};
  std::optional<BehaviourProfile> profile = {};  ///< for behaviour; its vocabulary is that of the windows
};

/// What is not known before is learned from the recordings that options.learn_from takes: for compat a
/// vocabulary of all their frames, for behaviour vocabulary and benign profile of those labelled 0. The set
/// must outlive the source. Errors: UsageError (unknown features, window below 2, stride below 1, compat by
/// time or of merged channels), InputError (no vocabulary or profile to be had, channels merged in the set
/// and not in what is known or the other way round, or as BehaviourWindows says).
std::unique_ptr<WindowSource> open_windows(const FramesView& frames, const WindowOptions& options,
                                           LearnedBefore known = {});

/// Writes the graphs of a source, or those of a shard, to a `graph_set`, in blocks on `threads` threads, in
/// smaller ones and on fewer where the budget has no room for them; the same bytes for any number. `progress`
/// gets graphs done and in all. Errors: BudgetExceeded where not even one graph at a time fits.
void write_graph_set(const BlockSource& source, const std::filesystem::path& out, bool force,
                     const Json& provenance, int threads,
                     const std::function<void(int64_t, int64_t)>& progress, const Shard& shard = {});

/// The ID rule that needs no learning: for each graph 1 if its window holds an ID that is not in `known`,
/// else 0. `windows` must be those of `frames`.
Vector<uint8_t, Tag::columns> unknown_id_rule(const FramesView& frames, const WindowSource& windows,
                                              const MessageIds& known);

}  // namespace plimsoll

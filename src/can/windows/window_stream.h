#pragma once

#include <optional>

#include "can/frames/frame_batch.h"
#include "can/windows/behaviour_graph.h"
#include "can/windows/compat_graph.h"
#include "can/windows/windows.h"

namespace plimsoll {

/// What is known of the frames of a stream, as Recording has it.
struct StreamFacts {
  bool has_time = true;
  bool has_payload = true;
  int64_t width = kPayloadBytes;  ///< bytes of payload a frame
};

/// A window of a stream. Frames and windows count from the start of the recording.
struct StreamedWindow {
  int64_t number = 0;
  int64_t first_frame = 0;
  int64_t frames = 0;
  int64_t time_ns = 0;   ///< of its last frame; of the one before where it has none
  bool partial = false;  ///< the recording ended within it
};

/// Makes the graphs of windows from frames as they come: those that open_windows() makes of the same
/// recording, to the bit. It holds the frames of a window and those that it looks back and ahead at, however
/// long the stream is. Not thread-safe.
class WindowStream {
 public:
  /// A time that lies further back than this begins another recording, and so does a silence that is longer
  /// than this: the clock was set, or the bus slept, and no frame tells anything of the one before.
  static constexpr int64_t kMaxBack = int64_t{10} * 1'000'000'000;   ///< ns
  static constexpr int64_t kMaxPause = int64_t{60} * 1'000'000'000;  ///< ns; of windows by frames
  /// Windows by time: likewise a silence of more strides than this, and more frames than this within a
  /// window's length. Else one damaged time, or a clock that stands still, would make windows without end, or
  /// one without end.
  static constexpr int64_t kMaxSilence = 1000;
  static constexpr int64_t kMaxFrames = int64_t{1} << 18;

  /// `known.vocabulary`, and for behaviour `known.profile`, are those that windows are compared with. Errors:
  /// UsageError as open_windows(); InputError where there is no profile, or no vocabulary.
  WindowStream(const WindowOptions& options, LearnedBefore known);

  /// From here on comes another recording. Errors: InputError for windows by time of frames without times.
  void begin(const StreamFacts& facts);
  /// Takes frames, up to the first that belongs to another recording; returns how many. `channels`: names by
  /// frames.channel, of which a recording may only have more from call to call. Errors: InputError where
  /// windows are of merged channels and frames tell none, or the other way round; BudgetExceeded.
  int64_t add(const FrameSpans& frames, const std::vector<std::string>& channels = {});
  /// The recording has ended: next() also gives what is left of it.
  void end() { ended_ = true; }
  /// Until more frames come, next() does not wait for frames after a window.
  void stop_waiting() { waits_ = false; }
  /// Makes the next window that is complete and, where extra frames are looked for, has
  /// ExtraFrames::kLookAhead frames after it; false where more frames are needed. graph() holds its graph,
  /// frames() its frames, until the next call of any function.
  bool next(StreamedWindow& window);

  const GraphBlock& graph() const { return block_; }
  GraphBlock& graph() { return block_; }
  /// Of behaviour graphs: the message of each node.
  MessageKeys node_ids() const { return behaviour_->node_ids(); }
  /// Names of channels: of those that the windows are compared with, and of the frames.
  const std::vector<std::string>& known_channels() const { return vocabulary_.ids().channels; }
  const std::vector<std::string>& channels() const { return recording_.channels; }
  /// Of a behaviour window.
  FrameStatistics frame_statistics() {
    recording_.frames = total();
    const FrameWindow window{&recording_, window_first_ - dropped_, window_frames_};
    return judges_.judge(spans_, window, *profile_, dropped_);
  }
  FrameSpans frames() const { return held_.merged_spans().part(window_first_ - dropped_, window_frames_); }
  /// The frames that no window had yet which next() gave, and those that the next one has in common with it.
  FrameSpans pending() const;
  /// Features and vocabulary; no splits and recordings.
  const GraphSetTables& tables() const { return tables_; }

 private:
  bool find(StreamedWindow& window);
  bool find_by_frames(StreamedWindow& window) const;
  bool find_by_time(StreamedWindow& window);
  bool begins_another(int64_t time_ns);
  void advance(int64_t& at, int64_t clock) const;
  void drop_old_frames();
  int64_t next_window_first() const;
  int64_t look_ahead() const;
  int64_t clocked() const { return dropped_ + static_cast<int64_t>(clock_.size()); }
  int64_t total() const { return dropped_ + static_cast<int64_t>(held_.frames()); }

  WindowOptions options_;
  Vocabulary vocabulary_;
  std::optional<BehaviourProfile> profile_;
  GraphSetTables tables_;
  FrameBatch held_;
  FrameSpans spans_;     // of held_
  Recording recording_;  // what BehaviourGraph asks of one
  std::optional<BehaviourGraph> behaviour_;
  std::optional<CompatGraph> compat_;
  FrameJudges judges_;
  GraphBlock block_;

  // Of the recording.
  bool ended_ = false;
  bool waits_ = true;
  std::optional<int64_t> latest_ns_;  // the latest time so far
  int64_t dropped_ = 0;               // frames that are not held any more
  int64_t next_ = 0;                  // window
  int64_t window_first_ = 0;
  int64_t window_frames_ = 0;

  // Windows by time. A frame's clock: the latest time so far, from the first frame on.
  Vector<int64_t, Tag::ingest> clock_;  // of the frames held
  int64_t start_ns_ = 0;
  int64_t first_at_ = 0;  // the first frame whose clock is in the next window, as far as is known
  int64_t end_at_ = 0;
  int64_t near_at_ = 0;  // the first frame within a window's length of the latest
};

}  // namespace plimsoll

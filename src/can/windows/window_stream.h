#pragma once

#include <optional>

#include "can/frames/frame_batch.h"
#include "can/windows/behaviour_graph.h"
#include "can/windows/compat_graph.h"
#include "can/windows/windows.h"

namespace plimsoll {

/// Properties of the frames of a stream, as in Recording.
struct StreamFacts {
  bool has_time = true;
  bool has_payload = true;
  int64_t width = kPayloadBytes;  ///< Bytes of payload per frame.
};

/// A window of a stream. Frames and windows count from the start of the recording.
struct StreamedWindow {
  int64_t number = 0;
  int64_t first_frame = 0;
  int64_t frames = 0;
  int64_t time_ns = 0;   ///< Time of its last frame; of the frame before the window if it has none.
  bool partial = false;  ///< The recording ended within the window.
};

/// Makes the graphs of windows from frames as they arrive, bit for bit the same as those that open_windows()
/// makes of the same recording. It holds only the frames of a window and of its look-back and look-ahead,
/// however long the stream is. Not thread-safe.
class WindowStream {
 public:
  /// A frame whose time is further back than kMaxBack starts another recording, and so does a silence longer
  /// than kMaxPause: the clock was set, or the bus slept, so later frames cannot be compared with earlier
  /// ones.
  static constexpr int64_t kMaxBack = int64_t{10} * 1'000'000'000;   ///< Nanoseconds.
  static constexpr int64_t kMaxPause = int64_t{60} * 1'000'000'000;  ///< Nanoseconds; for windows by frames.
  /// For windows by time, another recording starts after a silence of more than kMaxSilence strides, or after
  /// kMaxFrames frames within a window's length. Otherwise one damaged time would cause an endless number of
  /// windows, and a stopped clock would cause an endless window.
  static constexpr int64_t kMaxSilence = 1000;
  static constexpr int64_t kMaxFrames = int64_t{1} << 18;

  /// Windows are compared with `known.vocabulary` or, for behaviour features, with `known.profile`. Errors:
  /// UsageError as in check_window_options(); InputError if there is no vocabulary or, for behaviour
  /// features, no profile of this vocabulary.
  WindowStream(const WindowOptions& options, TrainedContext known);

  /// Starts a recording and forgets the one before. Call it before add(). Errors: InputError if windows are
  /// by time, but the frames have no times; UsageError for a width other than 8 or 64.
  void begin(const StreamFacts& facts);
  /// Adds frames of the width given to begin(), up to the first one that belongs to another recording, and
  /// returns the number added. For the rest, call end(), take the last windows and call begin(). `channels`
  /// holds the names, indexed by frames.channel; within a recording the list may only grow from call to call.
  /// Errors: InputError if the windows are of merged channels and the frames record none, or vice versa;
  /// BudgetExceeded.
  int64_t add(const FrameSpans& frames, const std::vector<std::string>& channels = {});
  /// Ends the recording: next() also returns the last, partial windows.
  void end() { ended_ = true; }
  /// Until more frames arrive, next() does not wait for frames after a window.
  void stop_waiting() { waits_ = false; }
  /// Makes the next window that is complete and, if extra frames are looked for, is followed by
  /// ExtraFrames::kLookAhead frames; false if more frames are needed. graph() holds its graph, frames() its
  /// frames, until the next call of any function.
  bool next(StreamedWindow& window);

  const GraphBlock& graph() const { return block_; }
  GraphBlock& graph() { return block_; }
  /// The message of each node of the last graph. Only for behaviour features.
  MessageKeys node_ids() const { return behaviour_->node_ids(); }
  /// Names of channels that the windows are compared with (known_channels()), and of the frames (channels()).
  const std::vector<std::string>& known_channels() const { return vocabulary_.ids().channels; }
  const std::vector<std::string>& channels() const { return recording_.channels; }
  /// Statistics of the window that next() made last. Only for behaviour features. Call it once per window.
  FrameStatistics frame_statistics() {
    recording_.frames = total();
    const FrameWindow window{&recording_, window_first_ - dropped_, window_frames_};
    return scorers_.score(spans_, window, *profile_, dropped_);
  }
  FrameSpans frames() const { return held_.merged_spans().part(window_first_ - dropped_, window_frames_); }
  /// The frames that are not yet in a window returned by next(), and those that the next window shares with
  /// the last one.
  FrameSpans pending() const;
  /// Features and vocabulary, without splits and recordings.
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
  FrameSpans spans_;     // Spans of held_.
  Recording recording_;  // The fields that BehaviourGraph reads.
  std::optional<BehaviourGraph> behaviour_;
  std::optional<CompatGraph> compat_;
  FrameScorers scorers_;
  GraphBlock block_;

  // State of the recording.
  bool ended_ = false;
  bool waits_ = true;
  std::optional<int64_t> latest_ns_;  // The latest time so far.
  int64_t dropped_ = 0;               // Number of frames that are no longer held.
  int64_t next_ = 0;                  // Number of the next window.
  int64_t window_first_ = 0;
  int64_t window_frames_ = 0;

  // State of windows by time. A frame's clock is the latest time so far, counted from the first frame.
  Vector<int64_t, Tag::ingest> clock_;  // Clocks of the frames held.
  int64_t start_ns_ = 0;
  int64_t first_at_ = 0;  // The first frame whose clock is in the next window, as far as is known.
  int64_t end_at_ = 0;
  int64_t near_at_ = 0;  // The first frame within a window's length of the latest one.
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "can/detector/detector_file.h"
#include "can/detector/focus.h"
#include "can/detector/window_scorer.h"
#include "can/windows/window_stream.h"

namespace plimsoll {

/// The result of a detector for a window.
struct WindowResult {
  StreamedWindow window;
  /// The fused score, whose alarm level is 1; log-odds for a detector without a fused score.
  float score = 0;
  /// The score that each part of the fused score gives alone (can/detector/fusion.h); absent if the detector
  /// has no fused score.
  std::optional<std::array<float, kFusedParts>> by_part = {};
  bool alarm = false;  ///< Never true for a partial window at the end of a recording, unless it is the first
                       ///< window of the stream.
  bool labelled = false;  ///< Whether the frames have labels.
  bool attack = false;    ///< Whether a frame of the window is labelled as an attack.
};

/// Options of a detector that replace those it was trained with. `window` and `stride` must have the
/// detector's unit.
struct DetectOptions {
  std::optional<WindowLength> window = {};
  std::optional<WindowLength> stride = {};
  std::optional<float> threshold = {};
  std::vector<uint32_t> adopted = {};  ///< CAN IDs to treat as known in addition to the detector's own.
  /// The false-alarm rate whose threshold is used; default: the lowest rate.
  std::optional<double> false_alarms = {};
};

/// Parses a CAN ID in hex; eight digits make it a 29-bit ID. Errors: UsageError.
uint32_t adopted_id(const std::string& text);

/// Runs a trained detector on frames as they arrive. The scores of windows equal those of `plimsoll evaluate`
/// on the same recording, up to rounding. Needs neither torch nor a data set. Not thread-safe.
class StreamDetector {
 public:
  /// Errors: those of DetectorFile; InputError if its weights are damaged or thresholds are missing;
  /// UsageError for options that do not fit the detector; with adopted IDs, those of require_calibratable().
  StreamDetector(const std::filesystem::path& model, const DetectOptions& options);

  /// Starts a recording. Errors: those of WindowStream::begin().
  void begin(const StreamFacts& facts) { stream_.begin(facts); }
  /// Continues the stream after `before`, which evaluated the windows so far.
  void follow(const StreamDetector& before) { first_ = before.first_; }
  /// Forwards to WindowStream::add() and end().
  int64_t add(const FrameSpans& frames, const std::vector<std::string>& channels = {}) {
    return stream_.add(frames, channels);
  }
  void end() { stream_.end(); }
  /// Lets next() evaluate complete windows without waiting for the frames after them, which may never arrive.
  void stop_waiting() { stream_.stop_waiting(); }
  /// Evaluates the next window if all frames that it needs have arrived (WindowStream::next()); false if not.
  bool next(WindowResult& result);

  /// The frames that another detector needs to continue from here without losing any.
  FrameSpans pending() const { return stream_.pending(); }

  // The focus, graph and messages of the last window that next() evaluated.
  Focus focus(size_t max) const { return focus_of(scorer_.network(), stream_.graph(), max); }
  const GraphBlock& graph() const { return stream_.graph(); }
  /// The message of each node, known or not.
  MessageKeys node_ids() const;
  /// Whether the message is in the detector's vocabulary, or adopted.
  bool is_known(MessageKey key) const {
    return vocabulary_.index(key) < vocabulary_.size() ||
           std::ranges::find(adopted_, static_cast<uint32_t>(key)) != adopted_.end();
  }
  /// The name of a message's channel; empty if each window is of a single channel.
  std::string channel_of(MessageKey key) const {
    return plimsoll::channel_of(key, stream_.known_channels(), stream_.channels());
  }

  /// Names of the channels that are merged in windows; empty for a detector of single channels.
  const std::vector<std::string>& channels() const { return stream_.known_channels(); }

  /// XXH3-64 of the detector's file, as 16 hex digits.
  const std::string& file_hash() const { return file_hash_; }
  /// A window whose score is above this, or NaN, is an alarm.
  float threshold() const { return threshold_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// How long the bus is silent in benign traffic.
  const BusSilence& silence() const { return silence_; }
  /// The windows in use, and those that the detector was trained on.
  const WindowOptions& windows() const { return windows_; }
  const WindowOptions& trained_windows() const { return trained_windows_; }

 private:
  StreamDetector(const DetectorFile& model, const DetectOptions& options);

  WindowOptions trained_windows_;
  WindowOptions windows_;
  Vocabulary vocabulary_;
  BusSilence silence_;
  std::vector<uint32_t> adopted_;
  WindowStream stream_;
  WindowScorer scorer_;
  std::optional<Fusion> fusion_;
  float threshold_;
  std::string file_hash_;
  bool first_ = true;  // No window has been evaluated yet.
};

}  // namespace plimsoll

#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "can/detector/detector_file.h"
#include "can/detector/focus.h"
#include "can/detector/window_judge.h"
#include "can/windows/window_stream.h"

namespace plimsoll {

/// What a detector says of a window.
struct Verdict {
  StreamedWindow window;
  float score = 0;  ///< fused, with the line of alarms at 1; of a detector without such a score log-odds
  /// What each part of a fused score would score alone (can/detector/fusion.h); absent without one.
  std::optional<std::array<float, kFusedParts>> by_part = {};
  bool alarm = false;     ///< never of a last window that the recording cut off, unless the
                          ///< stream has nothing before it
  bool labelled = false;  ///< the frames have labels
  bool attack = false;    ///< one of them is labelled an attack
};

/// How a detector is to be used, where not as it was trained.
struct DetectOptions {
  std::optional<WindowLength> window = {};
  std::optional<WindowLength> stride = {};
  std::optional<float> threshold = {};
  std::vector<uint32_t> adopted = {};       ///< CAN IDs that are known beside the detector's own
  std::optional<double> false_alarms = {};  ///< the rate whose threshold is taken; default: the least
};

/// A CAN ID in hex, of 29 bits if it has eight digits. Errors: UsageError.
uint32_t adopted_id(const std::string& text);

/// A trained detector on frames as they come: their windows' scores are those that evaluate gives the same
/// recording, but for rounding. Needs neither torch nor a data set. Not thread-safe.
class StreamDetector {
 public:
  /// Errors: InputError (the file), UsageError (options), BudgetExceeded; of adopted IDs those of
  /// require_calibratable().
  StreamDetector(const std::filesystem::path& model, const DetectOptions& options);

  /// From here on comes another recording. Errors: InputError for windows by time of frames without times.
  void begin(const StreamFacts& facts) { stream_.begin(facts); }
  /// Comes after another detector of the same frames: what was judged, was.
  void follow(const StreamDetector& before) { first_ = before.first_; }
  /// As WindowStream::add() and end().
  int64_t add(const FrameSpans& frames, const std::vector<std::string>& channels = {}) {
    return stream_.add(frames, channels);
  }
  void end() { stream_.end(); }
  /// Windows that are complete are judged now, without the frames after them that they wait for: none may
  /// come.
  void stop_waiting() { stream_.stop_waiting(); }
  /// The next window that has the frames that it needs (WindowStream::next()); false where more are needed.
  bool next(Verdict& verdict);

  /// The frames that another detector has to get to go on from here without losing one.
  FrameSpans pending() const { return stream_.pending(); }

  // Of the window that next() gave last.
  Focus focus(size_t max) const { return focus_of(judge_.network(), stream_.graph(), max); }
  const GraphBlock& graph() const { return stream_.graph(); }
  /// The message of each node, known or not.
  MessageKeys node_ids() const;
  /// In the detector's vocabulary, or adopted.
  bool is_known(MessageKey key) const {
    return vocabulary_.index(key) < vocabulary_.size() ||
           std::ranges::find(adopted_, static_cast<uint32_t>(key)) != adopted_.end();
  }
  /// The name of a message's channel; empty where windows are of single channels.
  std::string channel_of(MessageKey key) const {
    return plimsoll::channel_of(key, stream_.known_channels(), stream_.channels());
  }

  /// Names of the channels that windows are merged of; none of a detector of single channels.
  const std::vector<std::string>& channels() const { return stream_.known_channels(); }

  float threshold() const { return threshold_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// How long its bus is silent in benign traffic.
  const BusSilence& silence() const { return silence_; }
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
  WindowJudge judge_;
  std::optional<Fusion> fusion_;
  float threshold_;
  bool first_ = true;  // no verdict yet
};

}  // namespace plimsoll

#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "can/live/alarm_lines.h"
#include "can/live/detect_monitor.h"
#include "can/live/frame_feed.h"
#include "can/live/incidents.h"
#include "can/live/silence_watch.h"
#include "can/live/stream_detector.h"

namespace plimsoll {

/// Evaluates frames until the feed ends or is interrupted. Each channel has its own detector, so that a
/// window holds frames of one bus; a detector for merged channels serves all channels that have no other
/// detector. Not thread-safe.
class Detection {
 public:
  struct Options {
    std::string model;                          ///< File of the detector for channels that have no other.
    std::map<std::string, std::string> models;  ///< Files of detectors by channel.
    DetectOptions detect;
    FormatOptions format = {};  ///< Provides the names of the feed's channels.
    std::optional<Incidents::Options> incidents;
    Incidents::Report report;  ///< Called to report an incident.
    int64_t tick_ns = 0;       ///< Interval at which silence is evaluated; 0: never.
  };
  /// The references must outlive it. Set `reload`, which is then cleared, to read the detectors' files again
  /// before the next frames; the new detectors get the frames that have not been evaluated, and the open
  /// incident of a channel ends if its detector's file has changed. A file that cannot be used is reported on
  /// stderr, and all previous detectors are kept. Errors: those of StreamDetector and, with tick_ns, of
  /// SilenceWatch; UsageError if the detector of a single channel is for merged channels.
  Detection(Options options, FrameFeed& feed, AlarmLines& lines, DetectCounts& counts,
            const std::atomic<bool>& stop, std::atomic<bool>& reload);

  /// Evaluates all frames. Call it once. An error of the feed is kept for throw_damage(), unless it came
  /// before the first frame. Errors: Failure if results cannot be written; those of StreamDetector;
  /// InputError for more than kMaxChannels channels.
  void run();
  /// Throws the error that ended the feed, if any; call after run(). Everything before the error was
  /// evaluated.
  void throw_damage() const {
    if (damage_) std::rethrow_exception(damage_);
  }
  /// Checks the names of merged channels; call after run(). Errors: InputError if the detector knows none of
  /// the channels that sent frames.
  void require_known_channel();
  /// The detector for channels that have no other. Call it before run(), which gives the detector away.
  const StreamDetector& detector() const { return *first_; }

 private:
  // One channel, or all merged channels.
  struct Lane {
    StreamPlace place;
    std::unique_ptr<StreamDetector> detector;
    std::optional<Incidents> incidents;
    std::optional<SilenceWatch> silence;
    FrameBatch waiting;  // The channel's frames in the current batch, if that has several channels.
    int64_t windows = 0;
    int64_t frames = 0;
  };

  std::unique_ptr<StreamDetector> load(const std::string& channel) const;
  Lane& lane_of(const std::string& channel);
  bool is_merged(const std::string& channel) const { return merged_ && !options_.models.contains(channel); }
  bool knows(const std::string& channel);
  void name_channels(const FrameBatch& batch);
  void begin(Lane& lane);
  void take(const FrameBatch& batch);
  void take(Lane& lane, FrameSpans frames);
  void evaluate(Lane& lane);
  void listen(Lane& lane) const;
  SilenceWatch watch_of(const StreamDetector& detector) const;
  void evaluate_silence(Lane& lane, int64_t now_ns);
  void evaluate_silences(const FrameBatch& batch);
  void reload_detectors();
  bool read(FrameBatch& batch);
  void count(const FrameBatch& batch);

  Options options_;
  FrameFeed& feed_;
  AlarmLines& lines_;
  DetectCounts& counts_;
  const std::atomic<bool>& stop_;
  std::atomic<bool>& reload_;
  std::unique_ptr<StreamDetector> first_;
  bool merged_;                               // Whether first_ is a detector of merged channels.
  std::vector<std::string> channels_;         // Names, indexed by the feed's channel number.
  std::vector<std::unique_ptr<Lane>> lanes_;  // In the order of their first frames.
  int64_t incident_ = 0;                      // Number of the last incident.
  std::optional<int64_t> latest_ns_;          // Latest time of any frame.
  std::exception_ptr damage_;                 // The error that ended the feed.
};

}  // namespace plimsoll

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

/// Frames to verdicts, until the feed ends or is interrupted: a detector for each channel, so that windows
/// are of one bus; or one for all channels that have none of their own, if it was made on merged ones. Not
/// thread-safe.
class Detection {
 public:
  struct Options {
    std::string model;                          ///< of channels that have no other
    std::map<std::string, std::string> models;  ///< by channel: a detector of its own
    DetectOptions detect;
    FormatOptions format = {};  ///< of the feed: names of channels
    std::optional<Incidents::Options> incidents;
    Incidents::Tell tell;  ///< of incidents
    int64_t tick_ns = 0;   ///< of empty time that is judged; 0: none is
  };
  /// `reload`: set when the files of the detectors are to be read again; what is not judged yet goes to the
  /// new ones. Errors: as StreamDetector's; UsageError for a channel's detector that was made on
  /// merged ones.
  Detection(Options options, FrameFeed& feed, AlarmLines& lines, DetectCounts& counts,
            const std::atomic<bool>& stop, std::atomic<bool>& reload);

  void run();
  /// After run(): throws what the feed ended with, if that was an error. What came before it was judged.
  void throw_damage() const {
    if (damage_) std::rethrow_exception(damage_);
  }
  /// Of merged channels, after run(). Errors: InputError where the detector knows none that frames came of.
  void require_known_channel();
  /// The detector of channels that have no other.
  const StreamDetector& detector() const { return *first_; }

 private:
  // One channel, or the merged ones.
  struct Lane {
    StreamPlace place;
    std::unique_ptr<StreamDetector> detector;
    std::optional<Incidents> incidents;
    std::optional<SilenceWatch> silence;
    FrameBatch waiting;  // of a batch of several channels: its frames
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
  void judge(Lane& lane);
  void listen(Lane& lane) const;
  SilenceWatch watch_of(const StreamDetector& detector) const;
  void judge_silence(Lane& lane, int64_t now_ns);
  void judge_silences(const FrameBatch& batch);
  void load_again();
  bool read(FrameBatch& batch);
  void count(const FrameBatch& batch);

  Options options_;
  FrameFeed& feed_;
  AlarmLines& lines_;
  DetectCounts& counts_;
  const std::atomic<bool>& stop_;
  std::atomic<bool>& reload_;
  std::unique_ptr<StreamDetector> first_;
  bool merged_;                               // it is of merged channels
  std::vector<std::string> channels_;         // names by the feed's number
  std::vector<std::unique_ptr<Lane>> lanes_;  // in the order of their first frames
  int64_t incident_ = 0;                      // number of the last one
  std::optional<int64_t> latest_ns_;          // time of all frames
  std::exception_ptr damage_;                 // what the feed ended with
};

}  // namespace plimsoll

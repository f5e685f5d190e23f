#pragma once

#include <chrono>
#include <map>

#include "base/json.h"
#include "base/stopwatch.h"
#include "can/dbc/dbc.h"
#include "can/live/frame_feed.h"
#include "can/live/latency.h"
#include "can/live/silence_watch.h"
#include "can/live/stream_detector.h"

namespace plimsoll {

/// The place in the stream at which the current recording of a channel starts.
struct StreamPlace {
  std::string channel;  ///< Empty if the source records no channel, or channels are merged.
  int64_t first_window = 0;
  int64_t first_frame = 0;
};

/// Prints the output of detection: a line per alarm, as text or JSON, and a summary (docs/command-line.md,
/// detect). Not thread-safe.
class AlarmLines {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    bool all = false;  ///< Print every window, not only alarms.
    bool json = false;
    bool incidents = false;  ///< Do not print windows, because alarms are reported as incidents.
    bool summary = true;
    const Dbc* dbc = nullptr;  ///< Names of messages; must outlive the lines.
    bool j1939 = false;        ///< Report 29-bit IDs split into their parts.
  };
  /// `watch` must have been started at the start of the process, and must outlive the object.
  AlarmLines(const Options& options, const Stopwatch& watch) : options_(options), watch_(watch) {}

  /// Adds an evaluated window and prints it if the options select it. `arrived` is the arrival time of the
  /// last frame that its result needs. Errors: Failure if standard output cannot be written.
  void add(const WindowResult& result, const StreamDetector& detector, const StreamPlace& place,
           Clock::time_point arrived);
  /// Adds an alarm for a bus that was silent for too long, and prints it unless Options::incidents is set.
  /// Errors: Failure, as above.
  void add(const Silence& silence, const StreamDetector& detector, const StreamPlace& place);
  /// Adds to the number of frames. `frames` is negative if they will be counted again.
  void count_frames(int64_t frames) { frames_ += frames; }
  /// Number of alarms: windows and silences.
  int64_t alarms() const { return alarms_; }
  int64_t windows() const { return windows_; }
  int64_t frames() const { return frames_; }
  /// Counts a recording.
  void begin_recording() { ++recordings_; }
  /// Prints the summary if Options::summary is set. `memory` is the memory used, in the form that the summary
  /// shows; `events` are the counts of reported incidents, or null. Errors: Failure, as in add().
  void summarise(const FeedLosses& losses, const Json& memory, const Json& events);

 private:
  std::string name_of(const StreamDetector& detector, MessageKey key) const;
  std::string strangeness_of(const StreamDetector& detector, MessageKey key) const;
  Json line_json(const WindowResult& result, const StreamDetector& detector, const StreamPlace& place) const;
  std::string line_text(const WindowResult& result, const StreamDetector& detector,
                        const StreamPlace& place) const;
  Json summary_json(const FeedLosses& losses, const Json& memory) const;
  void print_summary(const Json& summary) const;
  double traffic_hours() const;
  // False alarms; valid only if the windows have labels.
  int64_t false_alarms() const { return alarms_ - silences_ - found_; }

  Options options_;
  const Stopwatch& watch_;
  Latency latency_;
  double first_result_s_ = 0;
  int64_t windows_ = 0;
  int64_t frames_ = 0;
  int64_t alarms_ = 0;
  int64_t silences_ = 0;  // Number of alarms that are silences.
  int64_t recordings_ = 0;
  bool labelled_ = false;
  int64_t attacks_ = 0;
  int64_t found_ = 0;
  // The time of the last window of a channel, and the total duration of the channel's traffic.
  struct Traffic {
    int64_t last_ns = 0;
    int64_t total_ns = 0;
  };
  std::map<std::string, Traffic> traffic_;
};

}  // namespace plimsoll

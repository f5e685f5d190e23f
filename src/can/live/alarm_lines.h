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

/// Where the present recording of a channel starts in the stream.
struct StreamPlace {
  std::string channel;  ///< empty where the source tells none, or channels are merged
  int64_t first_window = 0;
  int64_t first_frame = 0;
};

/// What detection prints: a line an alarm, as text or JSON, and a summary (docs/command-line.md, detect). Not
/// thread-safe.
class AlarmLines {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    bool all = false;  ///< every window, not alarms alone
    bool json = false;
    bool incidents = false;  ///< alarms are told as incidents: no line a window
    bool summary = true;
    const Dbc* dbc = nullptr;  ///< for names of messages; outlives the lines
    bool j1939 = false;        ///< 29-bit IDs are told in their parts
  };
  /// `watch` runs since the process began its work.
  AlarmLines(const Options& options, const Stopwatch& watch) : options_(options), watch_(watch) {}

  /// A window was judged, of whose frames, and those it waits for, the last arrived then; prints it if it is
  /// to be seen. Errors: Failure where standard output takes nothing more.
  void add(const Verdict& verdict, const StreamDetector& detector, const StreamPlace& place,
           Clock::time_point arrived);
  /// The bus was silent for too long: an alarm.
  void add(const Silence& silence, const StreamDetector& detector, const StreamPlace& place);
  void count_frames(int64_t frames) { frames_ += frames; }
  int64_t alarms() const { return alarms_; }
  int64_t windows() const { return windows_; }
  int64_t frames() const { return frames_; }
  void begin_recording() { ++recordings_; }
  /// `memory`: what was used of it, as the summary shows it. `events`: what was told of incidents, or null.
  /// Errors: Failure, as add().
  void summarise(const FeedLosses& losses, const Json& memory, const Json& events);

 private:
  std::string name_of(const StreamDetector& detector, MessageKey key) const;
  std::string strangeness_of(const StreamDetector& detector, MessageKey key) const;
  Json line_json(const Verdict& verdict, const StreamDetector& detector, const StreamPlace& place) const;
  std::string line_text(const Verdict& verdict, const StreamDetector& detector,
                        const StreamPlace& place) const;
  Json summary_json(const FeedLosses& losses, const Json& memory) const;
  void print_summary(const Json& summary) const;
  double traffic_hours() const;
  // Of windows with labels.
  int64_t false_alarms() const { return alarms_ - silences_ - found_; }

  Options options_;
  const Stopwatch& watch_;
  Latency latency_;
  double first_verdict_s_ = 0;
  int64_t windows_ = 0;
  int64_t frames_ = 0;
  int64_t alarms_ = 0;
  int64_t silences_ = 0;  // among these
  int64_t recordings_ = 0;
  bool labelled_ = false;
  int64_t attacks_ = 0;
  int64_t found_ = 0;
  // Of each channel: the time of its last window, and how long it was there.
  struct Traffic {
    int64_t last_ns = 0;
    int64_t total_ns = 0;
  };
  std::map<std::string, Traffic> traffic_;
};

}  // namespace plimsoll

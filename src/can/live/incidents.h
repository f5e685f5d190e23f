#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/words.h"
#include "can/live/alarm_reason.h"
#include "can/live/detect_monitor.h"
#include "can/live/silence_watch.h"
#include "can/live/stream_detector.h"

namespace plimsoll {

enum class Severity : uint8_t { low, medium, high, critical };
template <>
inline constexpr auto kWords<Severity> = std::to_array<std::string_view>({"low", "medium", "high",
                                                                          "critical"});

/// Alarms of a channel that belong together: they follow each other within a gap, or are in one interval.
struct Incident {
  enum class State : uint8_t { open, ongoing, closed };
  struct Id {
    uint32_t can_id = 0;
    std::string channel = {};  ///< The ID's channel if channels are merged; otherwise empty.

    auto operator<=>(const Id&) const = default;
  };

  int64_t number = 0;  ///< Counted from 1, over all reported incidents of all channels.
  State state = State::open;
  std::string channel;   ///< Empty if the source records no channel, or channels are merged.
  int64_t start_ns = 0;  ///< Time of the first alarm: of its window's last frame, or Silence::time_ns.
  int64_t end_ns = 0;    ///< Time of the last alarm.
  int64_t windows = 0;   ///< Number of alarms.
  float worst = 0;       ///< Worst score.
  float threshold = 0;   ///< Threshold of the detector's score.
  float strength = 0;    ///< Strength of the strongest alarm (can/live/alarm_reason.h).
  std::string part;      ///< Part of the score that caused the strongest alarm.
  std::string detector;  ///< XXH3-64 of the file of the detector that raised the alarms.
  struct Named {
    int64_t windows = 0;  ///< Number of alarms in which the ID is named.
    bool known = true;    ///< Whether the detector knows the ID.
  };
  std::map<Id, Named> ids;  ///< The first 16 IDs that alarms name.
  int64_t filtered = 0;     ///< Number of alarms that filters dropped since the previous event.

  /// The severity, which depends on the strength and the number of alarms.
  Severity severity() const;
  /// The reason, such as "unknown ID 0x18EAFF0B".
  std::string reason() const;
};

/// "open", "ongoing" or "closed".
const char* state_name(Incident::State state);

/// Turns alarms of one channel into incidents, with the filters of AUTOSAR's Intrusion Detection System
/// Manager, in the order that AUTOSAR defines: block state, every n-th, aggregation, threshold
/// (docs/events.md). Intervals start at multiples of their length, in the traffic's time. Not thread-safe.
class Incidents {
 public:
  struct Options {
    std::filesystem::path block = {};  ///< Alarms are dropped while this file exists; empty: no file.
    int64_t every = 1;                 ///< Use only every n-th alarm.
    int64_t gap_ns = 1'000'000'000;    ///< Maximum gap between the alarms of an incident. An incident is
                                       ///< reported when it starts, once per minute, and when it is over.
    /// Length of intervals, each of which is one incident, reported when it is over; 0: use the gap.
    int64_t interval_ns = 0;
    /// Minimum alarms before an incident is reported. Without intervals, a silence is reported at once.
    int64_t min_windows = 1;
    int64_t within_ns = 0;  ///< Interval in which alarms count towards the minimum; 0: the whole incident.
  };
  using Report = std::function<void(const Incident&)>;
  /// `number` is the number of the last reported incident of all channels, and is incremented; `counts`
  /// receives the numbers of alarms dropped. Both must outlive it.
  Incidents(const Options& options, std::string channel, int64_t& number, DetectCounts& counts, Report report)
      : options_(options),
        channel_(std::move(channel)),
        number_(number),
        counts_(counts),
        report_(std::move(report)) {}

  /// Adds the window that `detector` evaluated last.
  void add(const WindowResult& result, const StreamDetector& detector);
  /// Adds a silence of the bus that was too long for `detector`.
  void add(const Silence& silence, const StreamDetector& detector);
  /// Closes the open incident. Call it before each new recording, before another detector is used, and at the
  /// end.
  void end();

 private:
  bool passes();
  void drop(std::atomic<int64_t>& count, int64_t alarms);
  bool is_over(int64_t time_ns) const;
  bool is_enough(int64_t time_ns, int64_t alarms);
  void close_before(int64_t time_ns);
  void put_alarm(int64_t time_ns, float score, const StreamDetector& detector, const AlarmReason& reason);
  void name_ids(const StreamDetector& detector);
  void report(Incident::State state);

  static constexpr size_t kMaxIds = 16;

  Options options_;
  std::string channel_;
  int64_t& number_;
  DetectCounts& counts_;
  Report report_;
  int64_t sampled_ = 0;      // Number of alarms since the last one that was used.
  int64_t interval_ = 0;     // Number of the current interval of Options::within_ns.
  int64_t in_interval_ = 0;  // Number of alarms in the interval.
  int64_t filtered_ = 0;     // Number of alarms dropped since the previous event.
  bool open_ = false;
  bool reported_ = false;
  int64_t reported_ns_ = 0;
  Incident incident_;
};

}  // namespace plimsoll

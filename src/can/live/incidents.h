#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "can/live/alarm_reason.h"
#include "can/live/detect_monitor.h"
#include "can/live/silence_watch.h"
#include "can/live/stream_detector.h"

namespace plimsoll {

/// Alarms of a channel that belong together: they follow each other within a gap, or are of one interval.
struct Incident {
  enum class State : uint8_t { open, ongoing, closed };
  struct Id {
    uint32_t can_id = 0;
    std::string channel = {};  ///< of merged ones

    auto operator<=>(const Id&) const = default;
  };

  int64_t number = 0;  ///< from 1, over all channels
  State state = State::open;
  std::string channel;  ///< empty where the source tells none, or channels are merged
  int64_t start_ns = 0;
  int64_t end_ns = 0;   ///< of the last alarm
  int64_t windows = 0;  ///< alarms
  float worst = 0;      ///< score
  float threshold = 0;
  float strength = 0;  ///< the strongest alarm has it (can/live/alarm_reason.h)
  std::string part;    ///< by which it is that
  struct Named {
    int64_t windows = 0;  ///< alarms that an ID is named in
    bool known = true;    ///< to the detector
  };
  std::map<Id, Named> ids;
  int64_t filtered = 0;  ///< alarms that a filter dropped since the event before

  /// "low", "medium", "high" or "critical": by the strength, and by how many alarms there are.
  const char* severity() const;
  /// Why: "unknown ID 0x18EAFF0B".
  std::string reason() const;
};

/// "open", "ongoing" or "closed"
const char* state_name(Incident::State state);

/// Alarms of one channel to incidents, by the filters of AUTOSAR's Intrusion Detection System Manager in its
/// order: block state, every n-th, aggregation, threshold (docs/events.md). Intervals begin at multiples of
/// their length, in the time of the traffic. Not thread-safe.
class Incidents {
 public:
  struct Options {
    std::filesystem::path block = {};  ///< while there is such a file, alarms are dropped; empty: none
    int64_t every = 1;                 ///< of alarms the n-th is taken
    int64_t gap_ns = 1'000'000'000;    ///< told when it starts, once a minute, and when it is over
    int64_t interval_ns = 0;           ///< in place of the gap: told when the interval is over; 0: the gap
    int64_t min_windows = 1;           ///< alarms before an incident is told:
    int64_t within_ns = 0;             ///< in an interval of this length; 0: in the incident
  };
  using Tell = std::function<void(const Incident&)>;
  /// `number`: of the last incident of all channels, which is counted on; `counts` gets what is dropped.
  Incidents(const Options& options, std::string channel, int64_t& number, DetectCounts& counts, Tell tell)
      : options_(options),
        channel_(std::move(channel)),
        number_(number),
        counts_(counts),
        tell_(std::move(tell)) {}

  /// A window was judged.
  void add(const Verdict& verdict, const StreamDetector& detector);
  /// The bus was silent for too long.
  void add(const Silence& silence, float threshold);
  /// Another recording, or the end: what is open is over.
  void end();

 private:
  bool passes();
  void drop(std::atomic<int64_t>& count, int64_t alarms);
  bool is_over(int64_t time_ns) const;
  bool is_enough(int64_t time_ns, int64_t alarms);
  void close_before(int64_t time_ns);
  void put_alarm(int64_t time_ns, float score, float threshold, const AlarmReason& reason);
  void name_ids(const StreamDetector& detector);
  void tell(Incident::State state);

  static constexpr size_t kMaxIds = 16;

  Options options_;
  std::string channel_;
  int64_t& number_;
  DetectCounts& counts_;
  Tell tell_;
  int64_t sampled_ = 0;      // alarms since the last n-th one
  int64_t interval_ = 0;     // of the threshold, in which
  int64_t in_interval_ = 0;  // alarms came
  int64_t filtered_ = 0;     // since the event before
  bool open_ = false;
  bool told_ = false;
  int64_t told_ns_ = 0;
  Incident incident_;
};

}  // namespace plimsoll

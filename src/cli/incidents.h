#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "detect/silence_watch.h"
#include "detect/stream_detector.h"

namespace plimsoll {

/// Alarms of a channel that follow each other within a gap.
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
  std::string part;           ///< that the worst score is by
  std::map<Id, int64_t> ids;  ///< alarms that an ID is named in

  /// "low", "medium", "high" or "critical": by how far the worst score exceeds the threshold.
  const char* severity() const;
};

/// "open", "ongoing" or "closed"
const char* state_name(Incident::State state);

/// Alarms of one channel to incidents: the aggregation filter of AUTOSAR's Intrusion Detection System
/// Manager. An incident is told when it starts, once a minute of traffic while it lasts, and when it is over
/// (docs/events.md). Not thread-safe.
class Incidents {
 public:
  struct Options {
    int64_t gap_ns = 1'000'000'000;
    int64_t least_windows = 1;  ///< alarms before an incident is told
  };
  using Tell = std::function<void(const Incident&)>;
  /// `number`: of the last incident of all channels, which is counted on.
  Incidents(const Options& options, std::string channel, int64_t& number, Tell tell)
      : options_(options), channel_(std::move(channel)), number_(number), tell_(std::move(tell)) {}

  /// A window was judged.
  void add(const Verdict& verdict, const StreamDetector& detector);
  /// The bus was silent for too long.
  void add(const Silence& silence, float threshold);
  /// Another recording, or the end: what is open is over.
  void end();

 private:
  void close_before(int64_t time_ns);
  void put_alarm(int64_t time_ns, float score, float threshold, const std::string& part);
  void name_ids(const StreamDetector& detector);
  void tell(Incident::State state);

  static constexpr size_t kMostIds = 16;

  Options options_;
  std::string channel_;
  int64_t& number_;
  Tell tell_;
  bool open_ = false;
  bool told_ = false;
  int64_t told_ns_ = 0;
  Incident incident_;
};

}  // namespace plimsoll

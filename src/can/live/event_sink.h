#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/words.h"
#include "can/live/detect_monitor.h"
#include "can/live/event_text.h"

namespace plimsoll {

enum class EventFormat : uint8_t { json, ocsf, syslog };
template <>
inline constexpr auto kWords<EventFormat> = std::to_array<std::string_view>({"json", "ocsf", "syslog"});

/// Sends events to standard output and a command, subject to the rate and traffic limits of AUTOSAR's
/// Intrusion Detection System Manager. Not thread-safe.
class EventSink {
 public:
  struct Options {
    EventFormat format = EventFormat::json;
    /// Shell command that gets each event on its standard input and the incident's state as $0; empty: none.
    std::string command;
    int64_t max = 60;                    ///< Maximum events in a window of the traffic's time; 0: no limit.
    int64_t max_bytes = 0;               ///< Maximum bytes of the events' lines in a window; 0: no limit.
    int64_t window_ns = 60'000'000'000;  ///< Length of the windows of `max` and `max_bytes`; above 0.
    EventContext context;
  };
  /// `counts`, which must outlive it, receives the numbers of events that were reported and held back.
  EventSink(Options options, DetectCounts& counts) : options_(std::move(options)), counts_(counts) {}
  /// Waits up to ten seconds for commands that are still running.
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  /// Reports an incident, unless a limit holds it back. Does not wait for the command. Errors: Failure if
  /// standard output cannot be written. A command that fails, or a 17th that would run at once, is reported
  /// on stderr and has no other effect.
  void report(const Incident& incident);

 private:
  bool is_held_back(int64_t time_ns, size_t bytes);
  std::string text_of(const Incident& incident) const;
  void run_command(const std::string& text, const char* state);
  void collect();

  static constexpr size_t kMaxRunning = 16;

  Options options_;
  DetectCounts& counts_;
  int64_t window_ = 0;    // Number of the current window of the traffic.
  int64_t reported_ = 0;  // Events reported in the window.
  int64_t bytes_ = 0;     // Bytes reported in the window.
  std::vector<pid_t> running_;
};

/// Prints a line to standard output at once. Any thread may call it. Errors: Failure.
void print_event(const std::string& line);

}  // namespace plimsoll

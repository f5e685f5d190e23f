#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "can/live/detect_monitor.h"
#include "can/live/event_text.h"

namespace plimsoll {

/// Where events go: standard output and a command, no more than the rate and traffic limitation of AUTOSAR's
/// Intrusion Detection System Manager let through. Not thread-safe.
class EventSink {
 public:
  struct Options {
    std::string format;     ///< "json", "ocsf" or "syslog"
    std::string command;    ///< of a shell; gets each event on its standard input; empty: none
    int64_t max = 60;       ///< events in a window of the traffic's time; 0: no limit
    int64_t max_bytes = 0;  ///< of their lines, in a window; 0: no limit
    int64_t window_ns = 60'000'000'000;
    EventContext context;
  };
  /// `counts` gets what was told and what was held back.
  EventSink(Options options, DetectCounts& counts) : options_(std::move(options)), counts_(counts) {}
  /// Waits up to ten seconds for commands that still run.
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  /// Errors: Failure where standard output takes nothing more. A command that fails is reported on stderr and
  /// ends nothing.
  void tell(const Incident& incident);

 private:
  bool is_held_back(int64_t time_ns, size_t bytes);
  std::string text_of(const Incident& incident) const;
  void run_command(const std::string& text, const char* state);
  void collect();

  static constexpr size_t kMaxRunning = 16;

  Options options_;
  DetectCounts& counts_;
  int64_t window_ = 0;  // of the traffic, in which
  int64_t told_ = 0;    // events
  int64_t bytes_ = 0;   // of so many bytes were told
  std::vector<pid_t> running_;
};

/// Prints a line to standard output at once. Errors: Failure.
void print_event(const std::string& line);

}  // namespace plimsoll

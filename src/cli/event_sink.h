#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/event_text.h"

namespace plimsoll {

/// Where events go: standard output and a command, no more than a rate lets through. Not thread-safe.
class EventSink {
 public:
  struct Options {
    std::string format;   ///< "json", "ocsf" or "syslog"
    std::string command;  ///< of a shell; gets each event on its standard input; empty: none
    int64_t most = 60;    ///< events a minute of traffic: the rate limit of AUTOSAR's IdsM; 0: no limit
    EventContext context;
  };
  explicit EventSink(Options options) : options_(std::move(options)) {}
  /// Waits up to ten seconds for commands that still run.
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  /// Errors: Failure where standard output takes nothing more. A command that fails is reported on stderr and
  /// ends nothing.
  void tell(const Incident& incident);
  int64_t events() const { return events_; }
  int64_t suppressed() const { return suppressed_; }

 private:
  bool is_over_rate(int64_t time_ns);
  std::string text_of(const Incident& incident) const;
  void run_command(const std::string& text, const char* state);
  void collect();

  static constexpr size_t kMostRunning = 16;

  Options options_;
  int64_t events_ = 0;
  int64_t suppressed_ = 0;  // in all
  int64_t minute_ = 0;      // of the traffic, in which
  int64_t in_minute_ = 0;   // events were told
  std::vector<pid_t> running_;
};

/// Prints a line to standard output at once. Errors: Failure.
void print_event(const std::string& line);

}  // namespace plimsoll

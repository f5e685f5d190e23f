#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/json.h"

namespace plimsoll {

/// What a detection counts, written by it and read by the monitor.
struct DetectCounts {
  std::atomic<int64_t> frames = 0;
  std::atomic<int64_t> windows = 0;
  std::atomic<int64_t> alarms = 0;
  std::atomic<int64_t> events = 0;
  std::atomic<int64_t> blocked = 0;          ///< alarms, by the filters of events
  std::atomic<int64_t> sampled_out = 0;      ///< alarms, too
  std::atomic<int64_t> below_threshold = 0;  ///< alarms, too
  std::atomic<int64_t> over_rate = 0;        ///< events, by the limits
  std::atomic<int64_t> over_bytes = 0;       ///< events, too
  std::atomic<int64_t> malformed = 0;
  std::atomic<int64_t> dropped = 0;  ///< by the system
  std::atomic<int64_t> reloads = 0;
  std::atomic<int64_t> channels = 0;
  std::atomic<int64_t> last_frame_ns = 0;  ///< the time of the last frame, as the traffic has it
};

/// Events that were told, and what filters and limits kept from being told.
Json events_json(const DetectCounts& counts);

/// A thread that tells how a detection fares while it runs: heartbeats on standard output, and a page for
/// Prometheus (text format 0.0.4) on 127.0.0.1, at any path. It stops with its scope.
class DetectMonitor {
 public:
  struct Options {
    int port = 0;             ///< of the page; 0: none
    int64_t heartbeat_s = 0;  ///< 0: none
    std::string detector;     ///< hash
    std::string source;
    std::string vehicle;
  };
  /// Errors: Failure where the port cannot be had.
  DetectMonitor(Options options, const DetectCounts& counts);
  ~DetectMonitor();
  DetectMonitor(const DetectMonitor&) = delete;
  DetectMonitor& operator=(const DetectMonitor&) = delete;

 private:
  void listen();
  void run(const std::stop_token& stop);
  void answer() const;
  std::string page() const;
  void beat() const;

  Options options_;
  const DetectCounts& counts_;
  int listener_ = -1;
  std::jthread thread_;
};

}  // namespace plimsoll

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/json.h"
#include "base/mutex.h"

namespace plimsoll {

/// The state of a running detection, which the detection writes and the monitor reads. Thread-safe.
struct DetectCounts {
  std::atomic<int64_t> frames = 0;
  std::atomic<int64_t> windows = 0;
  std::atomic<int64_t> alarms = 0;
  std::atomic<int64_t> events = 0;
  std::atomic<int64_t> blocked = 0;          ///< Alarms dropped while the block file exists.
  std::atomic<int64_t> sampled_out = 0;      ///< Alarms dropped because only every n-th is used.
  std::atomic<int64_t> below_threshold = 0;  ///< Alarms dropped because their incident had too few alarms.
  /// Events dropped because their --event-window already had --event-rate events.
  std::atomic<int64_t> over_rate = 0;
  /// Events dropped because their --event-window would otherwise have more than --event-bytes bytes.
  std::atomic<int64_t> over_bytes = 0;
  std::atomic<int64_t> malformed = 0;  ///< Malformed lines, and frames of interfaces that are too long.
  std::atomic<int64_t> dropped = 0;    ///< Frames that the system dropped.
  std::atomic<int64_t> reloads = 0;
  std::atomic<int64_t> channels = 0;
  std::atomic<int64_t> last_frame_ns = 0;  ///< The time of the last frame, on the traffic's clock.

  /// Sets the hash of the file of the detector for channels that have no other.
  void set_detector(const std::string& hash) {
    const MutexLock lock(mutex_);
    detector_ = hash;
  }
  std::string detector() const {
    const MutexLock lock(mutex_);
    return detector_;
  }

 private:
  mutable Mutex mutex_;
  std::string detector_ PLIMSOLL_GUARDED_BY(mutex_);
};

/// The numbers of events reported and of events and alarms dropped by filters and limits, as JSON.
Json events_json(const DetectCounts& counts);

/// A thread that reports on a running detection: heartbeats on standard output, and a page for Prometheus
/// (text format 0.0.4) on 127.0.0.1, which it serves at every path. A heartbeat that cannot be written is
/// dropped. Without a port and heartbeats there is no thread. The destructor stops the thread.
class DetectMonitor {
 public:
  struct Options {
    int port = 0;             ///< Port of the page; 0: no page.
    int64_t heartbeat_s = 0;  ///< Seconds between heartbeats; 0: no heartbeats.
    std::string source;
    std::string vehicle;
  };
  /// `counts` must outlive it. Errors: Failure if the port cannot be opened.
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

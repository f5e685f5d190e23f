#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plimsoll {

/// State of the main thread of a rank. An Exchange writes it; threads that watch the ranks
/// (python/plimsoll/jobs/heartbeat.py) read it. Thread-safe for one writer.
class RankWatch {
 public:
  struct State {
    double waiting_s = 0;  ///< Seconds that the rank has been waiting for other ranks; 0 while it works.
    bool in_step = false;  ///< Whether a training step is running. The duration of other work is not limited.
    /// Longest step so far in seconds. The time before the first step counts as a step.
    double longest_step_s = 0;
  };

  void begin_wait() { waiting_since_ = now(); }
  void end_wait() { waiting_since_ = 0; }
  void begin_step();
  void end_step();

  State state() const;

 private:
  // Nanoseconds of the steady clock. They are never 0.
  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

  std::atomic<int64_t> waiting_since_ = 0;  // 0 while the rank works.
  std::atomic<int64_t> step_since_ = 0;     // 0 outside of steps.
  std::atomic<int64_t> longest_step_ = 0;
  const int64_t made_ = now();
};

}  // namespace plimsoll

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plimsoll {

/// What the main thread of a rank does: an Exchange writes it, and threads that watch over the ranks
/// (python/plimsoll/jobs/heartbeat.py) read it. Thread-safe for one writer.
class RankWatch {
 public:
  struct State {
    double waiting_s = 0;       ///< how long it has waited for other ranks; 0: it works
    bool in_step = false;       ///< a step of training runs; other work may take any time
    double longest_step_s = 0;  ///< before the first step: all that came before it
  };

  void begin_wait() { waiting_since_ = now(); }
  void end_wait() { waiting_since_ = 0; }
  void begin_step();
  void end_step();

  State state() const;

 private:
  // Nanoseconds of the steady clock, which are never 0.
  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

  std::atomic<int64_t> waiting_since_ = 0;  // 0: it works
  std::atomic<int64_t> step_since_ = 0;     // 0: it is in no step
  std::atomic<int64_t> longest_step_ = 0;
  const int64_t made_ = now();
};

}  // namespace plimsoll

#pragma once

#include <chrono>
#include <cstdint>

namespace plimsoll {

/// Receives what threads did and when, for example for a trace. Thread-safe.
class SpanSink {
 public:
  using Clock = std::chrono::steady_clock;

  /// The track of a span: the number of a worker, counted from 0, or kRun or kReader.
  static constexpr int kRun = -2;     ///< The run as a whole: steps, validation, checkpoints.
  static constexpr int kReader = -1;  ///< The thread that reads ahead.

  /// Track of the calling thread, which the thread may assign. It is kRun until then.
  static int& of_this_thread() {
    static thread_local int track = kRun;
    return track;
  }

  /// The amount of work in a span; all zeros if it does not apply.
  struct Size {
    int64_t graphs = 0;
    int64_t nodes = 0;
    int64_t edges = 0;
  };

  virtual ~SpanSink() = default;
  /// Records a span. `name` need not outlive the call.
  virtual void span(int track, const char* name, Clock::time_point begin, Clock::time_point end,
                    const Size& size) = 0;
};

}  // namespace plimsoll

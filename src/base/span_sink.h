#pragma once

#include <chrono>
#include <cstdint>

namespace plimsoll {

/// Who is told what threads did and when, such as a trace. Thread-safe.
class SpanSink {
 public:
  using Clock = std::chrono::steady_clock;

  /// Who did it: a worker by its number from 0 on, or one of these.
  static constexpr int kRun = -2;     ///< the run as a whole: steps, validation, checkpoints
  static constexpr int kReader = -1;  ///< the thread that reads ahead

  /// Who the calling thread is now: that of the run, unless a worker says otherwise.
  static int& of_this_thread() {
    static thread_local int track = kRun;
    return track;
  }

  /// What a span was about; zeros: nothing.
  struct Size {
    int64_t graphs = 0;
    int64_t nodes = 0;
    int64_t edges = 0;
  };

  virtual ~SpanSink() = default;
  /// `name` is of use during the call alone.
  virtual void span(int track, const char* name, Clock::time_point begin, Clock::time_point end,
                    const Size& size) = 0;
};

}  // namespace plimsoll

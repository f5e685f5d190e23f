#pragma once

#include <functional>

namespace plimsoll {

/// Registers `give_up`, which frees memory that can be spared, such as batches made ahead, when any thread is
/// refused memory. `give_up` is called from any thread, never by two at a time. It must not take memory of
/// the ledger, construct or destroy a Shrinker, or wait for a thread that calls ask(). Thread-safe.
class Shrinker {
 public:
  explicit Shrinker(std::function<void()> give_up);
  /// Waits for a running call of `give_up` to end.
  ~Shrinker();
  Shrinker(const Shrinker&) = delete;
  Shrinker& operator=(const Shrinker&) = delete;

  /// Calls all registered functions and returns true. Returns false if there are none: then asking the ledger
  /// again is useless.
  static bool ask();
};

}  // namespace plimsoll

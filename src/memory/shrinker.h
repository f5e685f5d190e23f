#pragma once

#include <functional>

namespace plimsoll {

/// Registers `give_up`, which frees memory that can be spared, such as batches made ahead. When a thread is
/// refused memory, `give_up` is called, on any thread but never on two at a time. It must not allocate memory
/// that enters the ledger, construct or destroy a Shrinker, or wait for a thread that calls ask().
/// Thread-safe.
class Shrinker {
 public:
  explicit Shrinker(std::function<void()> give_up);
  /// Waits until a running call of `give_up` returns.
  ~Shrinker();
  Shrinker(const Shrinker&) = delete;
  Shrinker& operator=(const Shrinker&) = delete;

  /// Calls all registered functions and returns true. Returns false if there are none; a retry is then
  /// useless.
  static bool ask();
};

}  // namespace plimsoll

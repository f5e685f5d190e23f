#pragma once

#include <functional>

namespace plimsoll {

/// Registers `give_up`, which frees memory that can be spared, such as batches made ahead. A thread that is
/// refused memory calls ask(), which calls `give_up` on that thread, but never on two threads at a time.
/// `give_up` must not allocate memory that enters the ledger, construct or destroy a Shrinker, or wait for a
/// thread that calls ask(). Thread-safe.
class Shrinker {
 public:
  explicit Shrinker(std::function<void()> give_up);
  /// Waits until a running call of `give_up` returns.
  ~Shrinker();
  Shrinker(const Shrinker&) = delete;
  Shrinker& operator=(const Shrinker&) = delete;

  /// Calls all registered functions and returns true. Returns false if there are none, or if a child of
  /// fork() cannot lock the list; a retry is then useless. Errors: those of the functions.
  static bool ask();
};

}  // namespace plimsoll

#pragma once

#include <functional>

namespace plimsoll {

/// While it lives, what `give_up` lets go of gives way to whoever is refused memory, such as batches that
/// were made ahead. `give_up` is called from any thread, never by two at once; it must not take memory of the
/// ledger, nor make or end a Shrinker. Thread-safe.
class Shrinker {
 public:
  explicit Shrinker(std::function<void()> give_up);
  /// Waits for a call of it to end.
  ~Shrinker();
  Shrinker(const Shrinker&) = delete;
  Shrinker& operator=(const Shrinker&) = delete;

  /// Asks all that live to give up what they can; false where there is none, or another thread is asking:
  /// then it is not worth asking the ledger again.
  static bool ask();
};

}  // namespace plimsoll

#pragma once

#include <functional>

namespace plimsoll {

/// While it lives, what `give_up` lets go of gives way to whoever is refused memory, such as batches that
/// were made ahead. `give_up` is called from any thread, never by two at once; it must not take memory of the
/// ledger, make or end a Shrinker, nor wait for a thread that asks. Thread-safe.
class Shrinker {
 public:
  explicit Shrinker(std::function<void()> give_up);
  /// Waits for a call of it to end.
  ~Shrinker();
  Shrinker(const Shrinker&) = delete;
  Shrinker& operator=(const Shrinker&) = delete;

  /// Asks all that live to give up what they can, and waits until they have; false where there is none: then
  /// it is not worth asking the ledger again.
  static bool ask();
};

}  // namespace plimsoll

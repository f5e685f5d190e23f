#pragma once

#include <string>

#include "base/json.h"
#include "engine/fit/fit_observer.h"

namespace plimsoll {

/// Follows a run, and acts on the process that runs it. By default it does nothing.
class RunObserver : public FitObserver {
 public:
  /// An observer that does nothing. Thread-safe.
  static RunObserver& none() {
    static RunObserver nothing;
    return nothing;
  }

  /// Called when a stage starts. `title` names it; `unit` names what its progress counts.
  virtual void on_stage(const std::string& /*title*/, const char* /*unit*/) {}
  /// Receives a sentence about data that may train badly. `sentence` is without a full stop.
  virtual void note(const std::string& /*sentence*/) {}
  /// Makes the kernel hold the process to the budget during the run. Returns how, for the manifest; null if
  /// it does not.
  virtual Json enforce() { return {}; }
  /// Undoes enforce(), before a refusal is explained.
  virtual void release() {}
  /// Returns the memory used so far, for the manifest.
  virtual Json memory() { return {}; }
};

}  // namespace plimsoll

#pragma once

#include <string>

#include "base/json.h"
#include "engine/fit/fit_observer.h"

namespace plimsoll {

/// Receives the progress of a run, and controls the memory limits of its process. By default it does nothing.
class RunObserver : public FitObserver {
 public:
  /// Returns an observer that does nothing. Thread-safe.
  static RunObserver& none() {
    static RunObserver nothing;
    return nothing;
  }

  /// Called when a stage starts. `title` names it; `unit` names what its progress counts.
  virtual void on_stage(const std::string& /*title*/, const char* /*unit*/) {}
  /// Receives a note about data that may give a poor model. `sentence` has no full stop.
  virtual void note(const std::string& /*sentence*/) {}
  /// Makes the kernel hold the process to the budget during the run. Returns a description for the manifest;
  /// null if the budget is not enforced.
  virtual Json enforce() { return {}; }
  /// Undoes enforce(). Called when the budget is too small, before the smallest budget that works is
  /// computed.
  virtual void release() {}
  /// Returns the memory used so far, for the manifest.
  virtual Json memory() { return {}; }
};

}  // namespace plimsoll

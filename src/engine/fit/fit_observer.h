#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Follows a stage. By default it does nothing. The thread that runs the stage makes the calls.
class FitObserver {
 public:
  FitObserver() = default;
  FitObserver(const FitObserver&) = delete;
  FitObserver& operator=(const FitObserver&) = delete;
  virtual ~FitObserver() = default;
  /// An observer that does nothing. Thread-safe.
  static FitObserver& none() {
    static FitObserver nothing;
    return nothing;
  }

  /// Everything is allocated and planned, and the first step follows.
  virtual void on_started() {}
  /// `done` of `total` graphs are done, over all epochs. `note` describes the last epoch.
  virtual void on_progress(int64_t /*done*/, int64_t /*total*/, const std::string& /*note*/) {}
};

}  // namespace plimsoll

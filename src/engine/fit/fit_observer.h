#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Follows a stage. Calls are made one at a time: on_started() on the thread that runs the stage,
/// on_progress() on that thread or on a worker. By default they do nothing.
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

  /// Called when everything is allocated and planned, before the first step.
  virtual void on_started() {}
  /// Called when `done` of `total` graphs are done, over all epochs. `note` describes the last epoch.
  virtual void on_progress(int64_t /*done*/, int64_t /*total*/, const std::string& /*note*/) {}
};

}  // namespace plimsoll

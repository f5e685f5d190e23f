#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/fit/fit_observer.h"

namespace plimsoll {

// Observes a stage and calls functions of a test.
class StageCalls final : public FitObserver {
 public:
  std::function<void()> started = [] {};
  std::function<void(int64_t done)> progress = [](int64_t) {};

  void on_started() override { started(); }
  void on_progress(int64_t done, int64_t, const std::string&) override { progress(done); }
};

}  // namespace plimsoll

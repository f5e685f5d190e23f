#pragma once

#include <atomic>
#include <utility>

#include "base/error.h"

namespace plimsoll {

/// From now on the first TERM, INT or USR1 sets the flag that is returned, so that work can end in order; a
/// second one ends the process at once with 128 + its number.
const std::atomic<bool>& catch_interrupts();

/// Thrown out of work that a signal ended; run_command() ends the process by that signal then.
struct Stopped {
  int signal;
};

/// `detect --fail-on-alarm` raised alarms, or `check --fail-on-finding` found something: run_command() gives
/// this exit code then.
struct AlarmsRaised {
  static constexpr int kExitCode = 10;
};

/// The same, and throw_if_stopped() throws Stopped after it. Where nothing calls that within kSecondsToStop
/// the process ends by the signal.
void stop_in_order();
void throw_if_stopped();
inline constexpr unsigned kSecondsToStop = 5;

/// What is given to work whose output appears at its end and that calls `progress` now and then: a signal
/// ends the work there by Stopped, so that what is half made is removed.
template <typename Progress>
auto until_stopped(Progress progress) {
  stop_in_order();
  return [progress = std::move(progress)](const auto&... how_far) {
    throw_if_stopped();
    progress(how_far...);
  };
}

/// What `work` gives; where a signal made it throw Interrupted after until_stopped(), Stopped.
template <typename Work>
auto stopped_in_order(const Work& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw_if_stopped();
    throw;
  }
}

}  // namespace plimsoll

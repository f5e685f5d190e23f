#pragma once

#include <atomic>
#include <utility>

#include "base/error.h"

namespace plimsoll {

/// From now on, the first TERM, INT or USR1 sets the returned flag, so that work can stop cleanly; a second
/// signal ends the process at once with the exit code 128 + its number.
const std::atomic<bool>& catch_interrupts();

/// Returns the flag that these signals set, interrupt_requested. An extension of Python hides its symbols, so
/// it has a copy of that variable, which no signal sets, and calls this function.
std::atomic<bool>& stop_flag();

/// Thrown out of work that a signal ended; run_command() then ends the process by that signal.
struct Stopped {
  int signal;
};

/// Thrown if `detect --fail-on-alarm` raised alarms, or `check --fail-on-finding` found something:
/// run_command() then returns this exit code.
struct AlarmsRaised {
  static constexpr int kExitCode = 10;
};

/// Like catch_interrupts(), but throw_if_stopped() also throws Stopped after the signal. If the process is
/// not done within kSecondsToStop, the signal ends it.
void stop_in_order();
void throw_if_stopped();
inline constexpr unsigned kSecondsToStop = 5;

/// Returns a callback for work that publishes its output at the end and calls `progress` regularly. After a
/// signal, the callback throws Stopped, so that unfinished output is removed.
template <typename Progress>
auto until_stopped(Progress progress) {
  stop_in_order();
  return [progress = std::move(progress)](const auto&... how_far) {
    throw_if_stopped();
    progress(how_far...);
  };
}

/// Returns the result of `work`. If a signal made it throw Interrupted after until_stopped(), throws Stopped.
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

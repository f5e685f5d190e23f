#pragma once

#include <atomic>
#include <utility>

#include "base/error.h"

namespace plimsoll {

/// Makes the first TERM, INT or USR1 set the returned flag, so that work can stop cleanly. A second signal
/// ends the process at once with the exit code 128 plus its number.
const std::atomic<bool>& catch_interrupts();

/// Returns interrupt_requested, the flag that these signals set. A Python extension must call this function:
/// it hides its symbols, so it has its own copy of the variable, which no signal sets.
std::atomic<bool>& stop_flag();

/// Thrown by work that a signal stopped; run_command() then ends the process with that signal.
struct Stopped {
  int signal;
};

/// Thrown if `detect --fail-on-alarm` raised an alarm or `check --fail-on-finding` has a finding;
/// run_command() then returns kExitCode.
struct AlarmsRaised {
  static constexpr int kExitCode = 10;
};

/// Like catch_interrupts(), but throw_if_stopped() also throws Stopped after a signal. If the process is
/// still running kSecondsToStop seconds later, the signal ends it.
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

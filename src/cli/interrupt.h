#pragma once

#include <atomic>
#include <utility>

#include "base/error.h"

namespace plimsoll {

/// Makes the first TERM, INT or USR1 set the returned flag, so that work can stop cleanly. A second signal
/// ends the process at once with the exit code 128 plus its number.
const std::atomic<bool>& catch_interrupts();

/// Returns interrupt_requested (base/interrupt.h), the flag that these signals set. A Python extension must
/// call this function: it hides its symbols, so it has its own copy of the variable, which no signal sets.
std::atomic<bool>& stop_flag();

/// Thrown by work that a signal stopped; run_command() then ends the process with that signal.
struct Stopped {
  int signal;  ///< 0: another rank was stopped, not this process.
};

/// Thrown if `detect --fail-on-alarm` raised an alarm or `check --fail-on-finding` has a finding;
/// run_command() then returns kExitCode.
struct AlarmsRaised {
  static constexpr int kExitCode = 10;
};

/// Like catch_interrupts(), and if the process is still running kSecondsToStop seconds after a signal, the
/// signal ends it.
void stop_in_order();
/// Throws Stopped if interrupt_requested is set.
void throw_if_stopped();
inline constexpr unsigned kSecondsToStop = 5;

/// Calls stop_in_order() and returns a callback for work that publishes its output at the end and reports its
/// progress regularly. The callback calls `progress`; after a signal, it throws Stopped instead, so that
/// unfinished output is removed.
template <typename Progress>
auto until_stopped(Progress progress) {
  stop_in_order();
  return [progress = std::move(progress)](const auto&... how_far) {
    throw_if_stopped();
    progress(how_far...);
  };
}

/// Returns the result of `work`. If `work` throws Interrupted because of a signal, throws Stopped instead.
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

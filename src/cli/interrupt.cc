#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

#include "base/interrupt.h"

namespace plimsoll {
namespace {

constexpr std::initializer_list<int> kSignals = {SIGTERM, SIGINT, SIGUSR1};

std::atomic<int> number_of_first = 0;
static_assert(decltype(interrupt_requested)::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// Another rank may have asked this one to stop before this one got its first signal.
void on_signal(int number) {
  if (number_of_first.exchange(number) != 0) _exit(128 + number);
  interrupt_requested = true;
}

void on_signal_with_time_to_stop(int number) {
  on_signal(number);
  ::alarm(kSecondsToStop);
}

void on_time_over(int /*number*/) {
  std::signal(number_of_first, SIG_DFL);
  std::raise(number_of_first);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  for (const int number : kSignals) std::signal(number, on_signal);
  return interrupt_requested;
}

std::atomic<bool>& stop_flag() {
  return interrupt_requested;
}

void stop_in_order() {
  std::signal(SIGALRM, on_time_over);
  for (const int number : kSignals) std::signal(number, on_signal_with_time_to_stop);
}

void throw_if_stopped() {
  if (interrupt_requested) throw Stopped{number_of_first};
}

}  // namespace plimsoll

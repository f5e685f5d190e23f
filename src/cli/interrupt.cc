#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace plimsoll {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int number) {
  if (interrupted.exchange(true)) _exit(128 + number);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) std::signal(number, on_signal);
  return interrupted;
}

}  // namespace plimsoll

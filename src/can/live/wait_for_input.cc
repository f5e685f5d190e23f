#include "can/live/wait_for_input.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"

namespace plimsoll {

Waited wait_for_input(int descriptor, const std::atomic<bool>* stop, int64_t max_ns) {
  using std::chrono::steady_clock;
  constexpr int64_t kLookUpMs = 100;  // Maximum ms until the flag is noticed; input is noticed at once.
  const auto end = steady_clock::now() + std::chrono::nanoseconds(max_ns);
  for (;;) {
    if (stop != nullptr && *stop) return Waited::stopped;
    int64_t wait_ms = kLookUpMs;
    if (max_ns > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
      if (left.count() <= 0) return Waited::timed_out;
      wait_ms = std::min<int64_t>(wait_ms, left.count());
    }
    pollfd input{descriptor, POLLIN, 0};
    const int ready = ::poll(&input, 1, static_cast<int>(wait_ms));
    if (ready > 0) return Waited::input;
    if (ready < 0 && errno != EINTR) throw Failure(fmt::format("poll: {}", std::strerror(errno)));
  }
}

}  // namespace plimsoll

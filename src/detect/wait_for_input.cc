#include "detect/wait_for_input.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace plimsoll {

bool wait_for_input(int descriptor, const std::atomic<bool>* stop) {
  constexpr int kLookUpMs = 100;  // how soon the flag is seen; input wakes at once
  for (;;) {
    if (stop != nullptr && *stop) return false;
    pollfd input{descriptor, POLLIN, 0};
    const int ready = ::poll(&input, 1, kLookUpMs);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw Failure(fmt::format("poll: {}", std::strerror(errno)));
  }
}

}  // namespace plimsoll

#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace plimsoll {

/// The system refused a thread: a limit on processes, on address space or on data. Exit 4.
class ThreadRefused : public Error {
 public:
  /// Names the limits that stand: the system says no more than "try again".
  explicit ThreadRefused(const std::system_error& error);
};

/// Starts a thread that runs `work(stop_token)` or `work()`. Errors: ThreadRefused; nothing was started then.
template <typename Work>
std::jthread start_thread(Work&& work) {
  try {
    return std::jthread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw ThreadRefused(error);
  }
}

}  // namespace plimsoll

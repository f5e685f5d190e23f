#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace plimsoll {

/// The system refused to start a thread because of a limit on processes, address space or data. Exit code 4.
class ThreadRefused : public Error {
 public:
  /// The text names the limits in force, because the system says only "try again".
  explicit ThreadRefused(const std::system_error& error);
};

/// Starts a thread that runs `work(stop_token)` or `work()`. Errors: ThreadRefused, with no thread started.
template <typename Work>
std::jthread start_thread(Work&& work) {
  try {
    return std::jthread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw ThreadRefused(error);
  }
}

}  // namespace plimsoll

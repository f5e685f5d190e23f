#pragma once

#include <cstddef>
#include <exception>
#include <span>

namespace plimsoll {

/// How a rank's part of a batch ended, as it tells the others: 0, or how bad it was.
double ending_of(const std::exception_ptr& error);

/// All ranks do what the worst ending of any means. `records`: those of all ranks, of `size` numbers, each of
/// which begins with an ending. Returns where all were done. Errors: `error`, this rank's own, and without
/// one what it means here that another rank had one: Interrupted where that may go on, or Failure.
void require_all_done(std::span<const double> records, size_t size, const std::exception_ptr& error);

/// What ends `work`, for all ranks to know; null: nothing does.
template <typename Work>
std::exception_ptr error_of(const Work& work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace plimsoll

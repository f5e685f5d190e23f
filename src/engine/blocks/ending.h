#pragma once

#include <cstddef>
#include <exception>
#include <span>

#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Returns how a rank's part of a batch ended, as a number for the other ranks: 0 for success, larger for
/// worse endings.
double ending_of(const std::exception_ptr& error);

/// Returns normally if all ranks succeeded. Otherwise all ranks act on the worst ending. `records` has `size`
/// numbers per rank, of which the first is the ending. Errors: `error`, this rank's own; if that is null,
/// Interrupted if the rank with the worst ending can continue later, otherwise Failure.
void require_all_done(std::span<const double> records, size_t size, const std::exception_ptr& error);

/// Sends this rank's ending, that of `error`, to all ranks, and does the same with the endings of all. Every
/// rank must call it. Errors: the same; RankLost.
void require_all_done(Exchange& exchange, const std::exception_ptr& error);

/// Calls `work` and returns the exception that it threw, or null.
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

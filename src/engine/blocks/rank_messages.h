#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include "engine/blocks/exchange.h"
#include "memory/vector.h"

namespace plimsoll {

/// The messages of one round of work that all ranks share: each rank sends one message to every other rank. A
/// message states how the rank's part of the round ended, and has content. Every rank knows the size of all
/// contents in advance. Not thread-safe.
class RankMessages {
 public:
  /// Bytes of a message in addition to its content.
  static constexpr int64_t kHeaderBytes = sizeof(double);

  /// Allocates a buffer for `max_bytes` bytes of content from each rank (Tag::columns). Errors:
  /// BudgetExceeded.
  RankMessages(int ranks, int64_t max_bytes);

  /// The content of a rank's message, at least `max_bytes` bytes, aligned to 8 bytes. Write this rank's
  /// content before start(). The contents of the other ranks are valid from finish() until the next start().
  std::span<std::byte> content(int rank);

  /// Starts to send this rank's message and to receive those of the others. sizes[r] is the size of rank r's
  /// content. `error` is the exception that ended this rank's part, or null; after an error, the content may
  /// be anything. Errors: RankLost.
  void start(Exchange& exchange, std::span<const int64_t> sizes, const std::exception_ptr& error);
  /// Waits for the messages. No other exchange may happen between start() and finish(). Errors: those of
  /// require_all_done() (engine/blocks/ending.h), on every rank; RankLost.
  void finish(Exchange& exchange);

 private:
  std::span<std::byte> message(int rank, int64_t content_bytes);

  const int ranks_;
  const int64_t stride_;  // Bytes from one message to the next.
  Vector<std::byte, Tag::columns> messages_;
  std::exception_ptr error_;
};

}  // namespace plimsoll

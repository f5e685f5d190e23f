#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stop_token>

#include "rows/row_counters.h"

namespace plimsoll {

/// Batches whose rows are copied from a file into a scratch file long before they are read, some hundred
/// batches per round. One thread makes rounds: it calls begin_round(), then add() until it returns false,
/// then write(). Meanwhile, any number of threads may read the previous round.
class PackedBatches {
 public:
  virtual ~PackedBatches() = default;

  /// Waits until there is space for a round. Returns false if `stop` was requested. Errors: those of the
  /// scratch file.
  virtual bool begin_round(const std::stop_token& stop) = 0;
  /// Adds a batch: its rows, which must be distinct, and a note, which is returned together with the rows.
  /// Returns false, without adding the batch, if the round is full. The batches of a round can be read once
  /// it is written. Errors: those of the scratch file; Failure if the batch has more rows, or a longer note,
  /// than the maximum given at construction.
  virtual bool add(std::span<const int64_t> rows, std::span<const std::byte> note) = 0;
  /// Writes the round. Returns false if `stop` was requested; no batch of the round can then be read. Errors:
  /// those of RowReader::read() and of the scratch file.
  virtual bool write(const std::stop_token& stop) = 0;
  /// Makes all later calls of read() throw this error.
  virtual void fail(std::exception_ptr error) = 0;
  /// Drops all rounds, after waiting for calls of read() that are copying rows. Batches added from now on are
  /// counted from 0 again and belong to `generation`. The first generation is 0. Must not be called while a
  /// round is being made.
  virtual void forget(int64_t generation) = 0;

  /// Destination of the rows of a batch: [rows, row_bytes] or f32 [rows, F].
  struct Place {
    std::span<const int64_t> rows;
    std::byte* out = nullptr;
  };
  using Placing = std::function<Place(std::span<const std::byte> note)>;
  /// Waits for batch `batch` of a generation, counted from 0 in the order of add(), and reads it. A batch can
  /// be read only once. Calls `place` with the batch's note, which is valid only during the call, and copies
  /// the rows to where `place` returns. Returns false if the generation has changed, or if the batch was
  /// dropped because a call waited for a much later one. Errors: the one given to fail(), those of the
  /// scratch file and of `place`.
  virtual bool read(int64_t generation, int64_t batch, const Placing& place) = 0;

  virtual RowCounters counters() const = 0;
};

}  // namespace plimsoll

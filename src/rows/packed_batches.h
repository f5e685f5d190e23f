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
/// batches per round. One thread makes rounds: begin_round(), add() until it returns false, write().
/// Meanwhile any number of threads may read the previous round.
class PackedBatches {
 public:
  virtual ~PackedBatches() = default;

  /// Waits until there is space for a round. Returns false if it was stopped. Errors: those of the scratch
  /// file.
  virtual bool begin_round(const std::stop_token& stop) = 0;
  /// Adds a batch: its rows, all different, and a note, which is returned together with the rows. Returns
  /// false, with nothing changed, if the round is full. The batches of a round can be read once it is
  /// written. Errors: those of the scratch file; Failure for a batch that is too long.
  virtual bool add(std::span<const int64_t> rows, std::span<const std::byte> note) = 0;
  /// Writes the round. Returns false if it was stopped. Errors: those of RowReader::read() and of the scratch
  /// file.
  virtual bool write(const std::stop_token& stop) = 0;
  /// Makes read() throw this error from now on.
  virtual void fail(std::exception_ptr error) = 0;
  /// Drops all rounds. From now on batches are counted from 0 again and belong to this generation (the first
  /// is 0).
  virtual void forget(int64_t generation) = 0;

  /// Destination of the rows of a batch: [rows, row_bytes] or f32 [rows, F].
  struct Place {
    std::span<const int64_t> rows;
    std::byte* out = nullptr;
  };
  using Placing = std::function<Place(std::span<const std::byte> note)>;
  /// Waits for batch number `batch` of a generation, counted from 0 in the order of add(), and returns it
  /// once: `place` gets its note, which is then deleted. Returns false if the generation has changed, or if
  /// batches too far beyond this one have already been read. Errors: those given to fail() and those of the
  /// scratch file.
  virtual bool read(int64_t generation, int64_t batch, const Placing& place) = 0;

  virtual RowCounters counters() const = 0;
};

}  // namespace plimsoll

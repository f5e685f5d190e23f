#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace plimsoll {

/// A table of embeddings [R, F] on a disk. A parameter [slots, F] holds some of its rows in memory: the
/// rows of the current step, and others as a cache. Thread-safe, except for read_all().
class StoredRows {
 public:
  virtual ~StoredRows() = default;

  virtual int64_t rows() const = 0;  ///< R
  /// Returns how many rows the parameter holds.
  virtual int64_t slots() const = 0;
  /// Puts rows into slots, where they stay until the end of the step. `ids` i64 [N] are indices below R.
  /// Returns i64 [N], the slot of each. Errors: Failure if a row cannot be read or written.
  virtual at::Tensor hold(const at::Tensor& ids) = 0;
  /// Returns f32 [N, F], the rows of `ids`. The slots do not change. Errors: those of hold().
  virtual at::Tensor read(const at::Tensor& ids) = 0;
  /// Returns the row that each slot holds; unused slots have any number.
  virtual std::span<const uint32_t> row_of_slots() const = 0;
  /// Sets the rows that the table starts with: f32 [R, F], valid as long as `owner` exists.
  virtual void start_from(std::span<const float> weights, std::shared_ptr<const void> owner) = 0;
  /// Passes all rows, f32 [R, F], to `take`, some consecutive rows at a time, which are valid only during the
  /// call. Errors: those of hold(), and those of `take`.
  virtual void read_all(const std::function<void(std::span<const float>)>& take) = 0;
};

}  // namespace plimsoll

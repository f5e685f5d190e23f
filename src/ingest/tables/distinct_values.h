#pragma once

#include <cstdint>
#include <optional>

#include "memory/vector.h"

namespace plimsoll {

/// Counts distinct 64-bit values, up to a limit, so that it needs at most 2 MiB, or 3 MiB while it grows. Not
/// thread-safe. Errors: BudgetExceeded.
class DistinctValues {
 public:
  static constexpr int64_t kMax = 65536;

  void add(uint64_t value);
  /// Returns the number of distinct values; nullopt if there were more than kMax.
  std::optional<int64_t> count() const;

 private:
  void grow();

  Vector<uint64_t, Tag::ingest> slots_;  // 0 marks an empty slot; has_zero_ stands for the value 0.
  int64_t count_ = 0;
  bool has_zero_ = false;
  bool too_many_ = false;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/affine_functions.h"
#include "memory/tape.h"
#include "memory/vector.h"

namespace plimsoll {

/// Bytes that a piece needs in addition to those requested: the header before its data, and rounding up.
struct AllocationSizes {
  int64_t header = kTensorHeader;
  int64_t alignment = Packing::kAlignment;
};

/// The tapes of a few small blocks, from which a TapeModel is fitted. Only the first tape is kept as a whole,
/// and the sizes of the others, because a graph with types needs a tape for each of its hundreds of terms.
/// Not thread-safe.
class TapeProbes {
 public:
  explicit TapeProbes(const AllocationSizes& rooms = {}) : rooms_(rooms) {}

  /// Adds the tape of a block with these terms. All blocks have the same number of terms. Errors:
  /// BudgetExceeded.
  void add(Tape tape, const Terms& terms);

  const AllocationSizes& rooms() const { return rooms_; }
  bool empty() const { return terms_.empty(); }
  const Tape& first() const { return first_; }
  const std::vector<Terms>& terms() const { return terms_; }
  /// Names the first operation whose events differ between two tapes; empty if all tapes are the same
  /// sequence.
  const std::string& difference() const { return difference_; }

  /// The sizes of a tape. If tapes differ in their sequence, only `as_they_come` is set.
  struct Sizes {
    int64_t as_they_come = 0;                 ///< Bytes of a range without a plan (packed_as_they_come()).
    Vector<int64_t, Tag::columns> bytes;      ///< [pieces]
    Vector<int64_t, Tag::columns> workspace;  ///< [workspaces, 2] pieces and room of each workspace.
  };
  const std::vector<Sizes>& sizes() const { return sizes_; }

 private:
  void compare(const Tape& tape);

  AllocationSizes rooms_;
  Tape first_;
  std::vector<Terms> terms_;
  std::vector<Sizes> sizes_;
  std::string difference_;
};

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/affine_functions.h"
#include "memory/tape.h"
#include "memory/tape_probes.h"

namespace plimsoll {

/// A tape whose sizes are affine functions of terms. The functions are fitted to the tapes of a few small
/// blocks, the probes. The model computes the sizes for every other block, even if the peak is then reached
/// in another operation.
///
/// The model is not exact if the probes' tapes are not the same sequence of events, or if a size is not
/// affine in the terms. Then difference() names the operation, and the sizes are an upper envelope of those
/// seen.
class TapeModel {
 public:
  TapeModel() = default;
  /// The model uses the sequence of the first tape, and has as many terms as the probes. Errors: UsageError
  /// if there are no tapes; BudgetExceeded.
  explicit TapeModel(const TapeProbes& probes);

  bool empty() const { return tape_.pieces.empty(); }
  bool exact() const { return difference_.empty(); }
  /// Whether all tapes were the same sequence of events. If not, sizes(), rooms(), highest_rooms() and peak()
  /// must not be called; only envelope() is defined.
  bool same_sequence() const { return same_sequence_; }
  const std::string& difference() const { return difference_; }
  /// The sequence of events, with the sizes of the first probe.
  const Tape& tape() const { return tape_; }

  /// Returns the bytes requested for each piece.
  std::vector<int64_t> sizes(const Terms& terms) const;
  /// Sets the bytes that each piece needs in a range, but not its place: header and alignment included, and
  /// for workspaces the space lost between pieces. `pieces` has one entry per piece of the tape.
  void rooms(const Terms& terms, std::span<PlannedAllocation> pieces) const;
  /// Does the same as rooms() with the maximum bytes that each piece needs for any terms between `lowest` and
  /// `highest`.
  void highest_rooms(const Terms& lowest, const Terms& highest, std::span<PlannedAllocation> pieces) const;
  /// Estimates the bytes of a range without a plan, for tapes whose sequences differ: an affine bound of all
  /// probes plus a quarter.
  int64_t envelope(const Terms& terms) const;

  /// Returns the maximum of the requested bytes held at a time, and the piece that reaches it.
  Tape::Peak peak(const Terms& terms) const;

 private:
  void fit(const TapeProbes& probes);
  void fit_envelope(const TapeProbes& probes);
  int64_t room_of(size_t piece, double bytes, double pieces) const;
  int64_t round_up(int64_t bytes) const {
    return (bytes + rooms_.alignment - 1) / rooms_.alignment * rooms_.alignment;
  }
  // Maximum bytes that each piece of a workspace may lose to its header and to alignment.
  int64_t lost_per_piece() const { return rooms_.header + rooms_.alignment; }

  AllocationSizes rooms_;
  Tape tape_;
  bool same_sequence_ = true;
  std::string difference_;
  AffineFunctions bytes_;         // One per piece.
  AffineFunctions pieces_;        // One per piece: the number of pieces of workspaces; 0 for other pieces.
  std::vector<double> envelope_;  // [terms]
};

}  // namespace plimsoll

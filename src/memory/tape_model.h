#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/tape.h"

namespace plimsoll {

/// What sizes are affine in: counts of a block, such as its nodes and edges, the first of them 1.
using Terms = std::vector<int64_t>;

/// What a piece takes beside its bytes, where it lies: before its data, and to be rounded up.
struct PieceRooms {
  int64_t header = kTensorHeader;
  int64_t alignment = Packing::kAlignment;
};

/// A tape whose sizes are affine functions of terms, solved from the tapes of a few small blocks. It gives
/// the sizes of every other block: also where the peak moves from one operation to another.
///
/// Where the probes' tapes are not the same sequence of events, or a size is not affine in the terms, it is
/// not exact: `difference` says at which operation, and sizes are an upper envelope of what was seen.
class TapeModel {
 public:
  TapeModel() = default;
  /// One entry of `terms` for each tape. The first tape's sequence is the model's. Errors: UsageError without
  /// tapes.
  TapeModel(std::span<const Tape> tapes, std::span<const Terms> terms, const PieceRooms& rooms = {});

  bool empty() const { return tape_.pieces.empty(); }
  bool exact() const { return difference_.empty(); }
  /// Whether all tapes were the same sequence; else sizes() are not to be had, and envelope() alone is.
  bool same_sequence() const { return same_sequence_; }
  const std::string& difference() const { return difference_; }
  /// The sequence; sizes in it are the first probe's.
  const Tape& tape() const { return tape_; }

  /// Bytes asked for, of each piece.
  std::vector<int64_t> sizes(const Terms& terms) const;
  /// Fills in what each takes in a range, places aside: header and alignment included, and in workspaces what
  /// is lost between pieces. `pieces` has an entry for each of the tape's.
  void rooms(const Terms& terms, std::span<PlannedPiece> pieces) const;
  /// The most that sizes within the box lowest .. highest can take, likewise.
  void highest_rooms(const Terms& lowest, const Terms& highest, std::span<PlannedPiece> pieces) const;
  /// Where sequences differ: bytes of a range that suffice as far as was seen.
  int64_t envelope(const Terms& terms) const;

  /// Bytes asked for at once at the peak, and the piece that comes to it.
  Tape::Peak peak(const Terms& terms) const;

 private:
  void fit(std::span<const Tape> tapes, std::span<const Terms> terms);
  void fit_envelope(std::span<const Tape> tapes, std::span<const Terms> terms);
  int64_t room_of(size_t piece, double bytes, double pieces) const;
  int64_t round_up(int64_t bytes) const {
    return (bytes + rooms_.alignment - 1) / rooms_.alignment * rooms_.alignment;
  }
  // What each piece of a workspace may lose to its header and to alignment.
  int64_t lost_per_piece() const { return rooms_.header + rooms_.alignment; }

  PieceRooms rooms_;
  Tape tape_;
  bool same_sequence_ = true;
  std::string difference_;
  size_t terms_ = 0;
  std::vector<double> bytes_;     // [pieces, terms]
  std::vector<double> pieces_;    // [pieces, terms], of workspaces
  std::vector<double> envelope_;  // [terms]
};

}  // namespace plimsoll

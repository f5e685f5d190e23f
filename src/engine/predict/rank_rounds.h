#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/predict/needed_pieces.h"
#include "engine/predict/piece_memory.h"
#include "memory/vector.h"

namespace plimsoll {

/// Divides the pieces that a layer computes among ranks, and the pieces of each rank among rounds, so that
/// all ranks have about the same number of edges and nodes in a round. A rank computes consecutive pieces. A
/// hub is not divided. The division depends only on the graph, the needed pieces, the number of ranks and the
/// bytes of a row.
class RankRounds {
 public:
  /// The arguments must outlive the object. Makes as many rounds as needed for the rows of all ranks in a
  /// round to have few bytes, if pieces are small enough for that. Errors: BudgetExceeded.
  RankRounds(const Pieces& pieces, const NeededPieces& needed, int ranks, int64_t row_bytes);

  int64_t rounds() const { return rounds_; }
  /// Number of rows that a rank computes in a round, and its maximum over all ranks and rounds.
  int64_t rows(int rank, int64_t round) const;
  int64_t max_rows() const { return max_rows_; }
  /// Maximum number of rows that a rank computes in all rounds.
  int64_t max_rows_of_rank() const;
  /// The first node that a rank computes in a round, unless it has no rows in that round.
  int64_t first_node(int rank, int64_t round) const;
  /// Whether a rank computes this piece.
  bool is_of_rank(int rank, int64_t piece) const {
    return piece >= first_piece(rank, 0) && piece < first_piece(rank + 1, 0);
  }

  /// Calls use(first, end) for the ranges of nodes whose rows a rank computes in a round, in order.
  template <typename Use>
  void visit_ranges(int rank, int64_t round, const Use& use) const {
    int64_t begin = 0;
    int64_t end = 0;
    const int64_t end_piece = first_piece(rank, round + 1);
    for (int64_t piece = needed_from(first_piece(rank, round)); piece < end_piece;
         piece = needed_from(piece + 1)) {
      const int64_t first = pieces_.begins[static_cast<size_t>(piece)];
      if (first > end && end > begin) use(begin, end);
      if (first > end || end == begin) begin = first;
      end = pieces_.nodes_until(piece);
    }
    if (end > begin) use(begin, end);
  }

 private:
  int64_t needed_from(int64_t piece) const;
  // Round rounds_ of a rank is round 0 of the next.
  int64_t first_piece(int rank, int64_t round) const {
    return begins_[static_cast<size_t>(rank * rounds_ + round)];
  }
  void divide(int64_t rounds);

  const Pieces& pieces_;
  const NeededPieces& needed_;
  const int ranks_;
  int64_t rounds_ = 0;
  Vector<int64_t, Tag::columns> begins_;  // First piece of each round of each rank, and the end.
  int64_t max_rows_ = 0;
};

}  // namespace plimsoll

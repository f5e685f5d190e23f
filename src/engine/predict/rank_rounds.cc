#include "engine/predict/rank_rounds.h"

namespace plimsoll {
namespace {

// Maximum bytes of the rows of all ranks in a round, unless single pieces have more.
constexpr int64_t kRoundBytes = int64_t{2} << 20;

}  // namespace

RankRounds::RankRounds(const Pieces& pieces, const NeededPieces& needed, int ranks, int64_t row_bytes)
    : pieces_(pieces), needed_(needed), ranks_(ranks) {
  for (int64_t rounds = 1;; rounds *= 2) {
    divide(rounds);
    if (ranks * max_rows_ * row_bytes <= kRoundBytes || rounds * ranks >= pieces.count()) return;
  }
}

// Gives each round of each rank the same share of the cost. A piece belongs to the share in which it ends.
void RankRounds::divide(int64_t rounds) {
  rounds_ = rounds;
  const int64_t count = pieces_.count();
  const auto cost = [&](int64_t piece) {
    return pieces_.edges[static_cast<size_t>(piece)] + pieces_.nodes_until(piece) -
           pieces_.begins[static_cast<size_t>(piece)];
  };
  int64_t total = 0;
  for (int64_t piece = needed_from(0); piece < count; piece = needed_from(piece + 1)) total += cost(piece);
  const int64_t shares = ranks_ * rounds;
  const auto begin_of = [&](int64_t share) {
    return total / shares * share + total % shares * share / shares;
  };
  begins_.assign(1, 0);
  int64_t start = 0;  // First piece of the current node.
  int64_t done = 0;
  for (int64_t piece = needed_from(0); piece < count; piece = needed_from(piece + 1)) {
    const int64_t node = pieces_.begins[static_cast<size_t>(piece)];
    if (node != pieces_.begins[static_cast<size_t>(start)]) start = piece;
    done += cost(piece);
    while (std::ssize(begins_) < shares && begin_of(std::ssize(begins_)) < done) begins_.push_back(start);
  }
  begins_.resize(static_cast<size_t>(shares) + 1, count);
  max_rows_ = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    for (int64_t round = 0; round < rounds; ++round) max_rows_ = std::max(max_rows_, rows(rank, round));
}

int64_t RankRounds::needed_from(int64_t piece) const {
  if (!needed_ || piece >= pieces_.count()) return piece;
  const int64_t next = needed_->next(piece);
  return next == RowSet::kNone ? pieces_.count() : next;
}

int64_t RankRounds::rows(int rank, int64_t round) const {
  int64_t rows = 0;
  visit_ranges(rank, round, [&](int64_t first, int64_t end) { rows += end - first; });
  return rows;
}

int64_t RankRounds::max_rows_of_rank() const {
  int64_t max = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    int64_t sum = 0;
    for (int64_t round = 0; round < rounds_; ++round) sum += rows(rank, round);
    max = std::max(max, sum);
  }
  return max;
}

int64_t RankRounds::first_node(int rank, int64_t round) const {
  return pieces_.begins[static_cast<size_t>(needed_from(first_piece(rank, round)))];
}

}  // namespace plimsoll

#include "memory/layout.h"

#include <algorithm>

namespace plimsoll {
namespace {

bool held_at_once(const Tape::Piece& a, const Tape::Piece& b) {
  return a.taken < b.given && b.taken < a.given;
}

// Rounds of looking for a better layout: a few milliseconds.
constexpr int kRounds = 200;

// No layout is smaller.
int64_t peak_rooms(const Tape& tape, std::span<const PlannedPiece> pieces) {
  std::vector<int64_t> rooms;
  for (const PlannedPiece& piece : pieces) rooms.push_back(piece.bytes);
  return peak_of(tape, rooms).bytes;
}

struct Placed {
  int64_t begin;
  int64_t end;
  int32_t piece;
};

// Places of pieces in one order of placing them; returns the bytes that hold all.
int64_t place_greedily(const Tape& tape, std::span<const PlannedPiece> pieces, const std::vector<int32_t>& order,
                       std::vector<int64_t>& places) {
  places.assign(pieces.size(), 0);
  std::vector<Placed> placed;  // ascending
  std::vector<Placed> beside;
  int64_t high = 0;
  for (const int32_t i : order) {
    const int64_t room = pieces[static_cast<size_t>(i)].bytes;
    const Tape::Piece& piece = tape.pieces[static_cast<size_t>(i)];
    int64_t end = 0;  // of what lies below the gap looked at
    int64_t best = -1;
    int64_t best_gap = 0;
    for (const Placed& other : placed) {
      if (!held_at_once(piece, tape.pieces[static_cast<size_t>(other.piece)])) continue;
      const int64_t gap = other.begin - end;
      if (gap >= room && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other.end);
    }
    const int64_t place = best >= 0 ? best : end;
    places[static_cast<size_t>(i)] = place;
    high = std::max(high, place + room);
    const Placed mine{place, place + room, i};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  mine);
  }
  return high;
}

}  // namespace

Layout::Layout(const Tape& tape, std::span<const PlannedPiece> pieces) {
  // What has no bytes at the largest sizes has none at others, and would only be in the way.
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].bytes > 0) order_.push_back(static_cast<int32_t>(i));
  std::vector<int64_t> places;
  int64_t least = INT64_MAX;
  std::vector<int64_t> found;
  const auto try_order = [&](const std::vector<int32_t>& order) {
    const int64_t high = place_greedily(tape, pieces, order, found);
    if (high >= least) return;
    least = high;
    places = found;
  };
  const auto bytes = [&](int32_t i) { return pieces[static_cast<size_t>(i)].bytes; };
  const auto lifetime = [&](int32_t i) {
    const Tape::Piece& piece = tape.pieces[static_cast<size_t>(i)];
    return int64_t{std::min(piece.given, tape.events)} - piece.taken;
  };
  // The largest first, and the longest-lived first.
  std::vector<int32_t> order = order_;
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return std::pair(lifetime(a), bytes(a)) > std::pair(lifetime(b), bytes(b));
  });
  try_order(order);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return std::pair(bytes(a), lifetime(a)) > std::pair(bytes(b), lifetime(b));
  });
  try_order(order);
  // Then what lies highest goes first, again and again, while there is something to gain (Joslin and Clements,
  // "Squeaky Wheel" Optimization, 1999).
  const int64_t bound = peak_rooms(tape, pieces);
  for (int round = 0; round < kRounds && least > bound + bound / 200; ++round) {
    const auto highest = std::ranges::max_element(order, {}, [&](int32_t i) {
      return found[static_cast<size_t>(i)] + bytes(i);
    });
    const auto to = order.begin() + (highest - order.begin()) / 2;
    std::rotate(to, highest, highest + 1);
    try_order(order);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  below_ptr_.push_back(0);
  for (size_t i = 0; i < order_.size(); ++i) {
    const Tape::Piece& piece = tape.pieces[static_cast<size_t>(order_[i])];
    const size_t first = below_.size();
    // From the nearest: what lies below one of those that are kept, and is held at once with it, follows.
    for (size_t j = i; j-- > 0;) {
      const Tape::Piece& other = tape.pieces[static_cast<size_t>(order_[j])];
      if (!held_at_once(piece, other)) continue;
      const bool follows =
          std::any_of(below_.begin() + static_cast<int64_t>(first), below_.end(), [&](int32_t kept) {
            return held_at_once(other, tape.pieces[static_cast<size_t>(kept)]);
          });
      if (!follows) below_.push_back(order_[j]);
    }
    below_ptr_.push_back(static_cast<int32_t>(below_.size()));
  }
}

int64_t Layout::place(std::span<PlannedPiece> pieces) const {
  int64_t high = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    PlannedPiece& piece = pieces[static_cast<size_t>(order_[i])];
    piece.place = 0;
    for (int32_t b = below_ptr_[i]; b < below_ptr_[i + 1]; ++b) {
      const PlannedPiece& below = pieces[static_cast<size_t>(below_[static_cast<size_t>(b)])];
      piece.place = std::max(piece.place, below.place + below.bytes);
    }
    high = std::max(high, piece.place + piece.bytes);
  }
  return high;
}

}  // namespace plimsoll

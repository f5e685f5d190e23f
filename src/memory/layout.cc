#include "memory/layout.h"

#include <algorithm>

namespace plimsoll {
namespace {

bool held_at_once(const Tape::Piece& a, const Tape::Piece& b) {
  return a.taken < b.given && b.taken < a.given;
}

struct Placed {
  int64_t begin;
  int64_t end;
  int32_t piece;
};

// Places the pieces in the given order and sets `places`. Returns the bytes that hold all pieces.
int64_t place_greedily(const Tape& tape, std::span<const PlannedAllocation> pieces,
                       const std::vector<int32_t>& order, std::vector<int64_t>& places) {
  places.assign(pieces.size(), 0);
  std::vector<Placed> placed;  // Sorted by begin.
  int64_t high = 0;
  for (const int32_t i : order) {
    const int64_t room = pieces[static_cast<size_t>(i)].bytes;
    const Tape::Piece& piece = tape.pieces[static_cast<size_t>(i)];
    int64_t end = 0;  // Highest end of the pieces below the gap.
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

// Searches for an order of placing pieces that needs few bytes.
class Search {
 public:
  Search(const Tape& tape, std::span<const PlannedAllocation> pieces, std::vector<int32_t> order)
      : tape_(tape), pieces_(pieces), order_(std::move(order)) {
    std::vector<int64_t> rooms;
    for (const PlannedAllocation& piece : pieces) rooms.push_back(piece.bytes);
    bound_ = peak_of(tape, rooms).bytes;
  }

  std::vector<int64_t> best() {
    // First tries the longest-lived pieces first, then the largest first.
    std::ranges::stable_sort(order_, [&](int32_t a, int32_t b) {
      return std::pair(lifetime(a), bytes(a)) > std::pair(lifetime(b), bytes(b));
    });
    place(order_);
    std::ranges::stable_sort(order_, [&](int32_t a, int32_t b) {
      return std::pair(bytes(a), lifetime(a)) > std::pair(bytes(b), lifetime(b));
    });
    place(order_);
    if (min_ > good_enough()) improve();
    return places_;
  }

 private:
  // No layout is smaller than the bound. A layout this close to it needs no further search.
  int64_t good_enough() const { return bound_ + bound_ / 256; }
  int64_t bytes(int32_t i) const { return pieces_[static_cast<size_t>(i)].bytes; }
  int64_t lifetime(int32_t i) const {
    const Tape::Piece& piece = tape_.pieces[static_cast<size_t>(i)];
    return int64_t{std::min(piece.given, tape_.events)} - piece.taken;
  }

  int64_t place(const std::vector<int32_t>& order) {
    const int64_t high = place_greedily(tape_, pieces_, order, found_);
    if (high < min_ && order.size() == order_.size()) {
      min_ = high;
      places_ = found_;
    }
    return high;
  }

  // Repeatedly moves the piece that ends highest to an earlier position (Joslin and Clements, "Squeaky Wheel"
  // Optimization, 1999), by pseudo-random distances. A slightly worse layout is accepted now and then. Small
  // pieces fit anywhere, so they come last and do not take part.
  void improve() {
    const auto small = std::ranges::find_if(order_, [&](int32_t i) { return bytes(i) < bound_ / 128; });
    std::vector<int32_t> kept(order_.begin(), small);
    int64_t kept_high = place(kept);
    std::vector<int64_t> kept_places = found_;
    int64_t lowest = kept_high;
    for (int round = 0; round < kRounds && lowest > good_enough(); ++round) {
      std::vector<int32_t> order = kept;
      const auto wheel = std::ranges::max_element(
          order, {}, [&](int32_t i) { return kept_places[static_cast<size_t>(i)] + bytes(i); });
      std::rotate(order.begin() + draw(wheel - order.begin() + 1), wheel, wheel + 1);
      const auto count = static_cast<int64_t>(order.size());
      if (round % 3 == 0)
        std::swap(order[static_cast<size_t>(draw(count))], order[static_cast<size_t>(draw(count))]);
      const int64_t high = place(order);
      if (high > kept_high + (round % 16 == 0 ? bound_ / 64 : 0)) continue;
      kept = std::move(order);
      kept_high = high;
      kept_places = found_;
      if (high >= lowest) continue;
      lowest = high;
      std::ranges::copy(kept, order_.begin());
    }
    place(order_);
  }

  // Returns the same pseudo-random numbers each time, because a layout is part of a plan's output.
  int64_t draw(int64_t below) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(below));
  }

  static constexpr int kRounds = 3000;
  const Tape& tape_;
  std::span<const PlannedAllocation> pieces_;
  std::vector<int32_t> order_;
  int64_t bound_ = 0;
  int64_t min_ = INT64_MAX;
  std::vector<int64_t> places_;
  std::vector<int64_t> found_;
  uint64_t state_ = 1;
};

}  // namespace

Layout::Layout(const Tape& tape, std::span<const PlannedAllocation> pieces) {
  // A piece that has 0 bytes at the maximum sizes has 0 bytes at all other sizes, so it needs no place.
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].bytes > 0) order_.push_back(static_cast<int32_t>(i));
  const std::vector<int64_t> places = Search(tape, pieces, order_).best();
  std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  below_ptr_.push_back(0);
  for (size_t i = 0; i < order_.size(); ++i) {
    const Tape::Piece& piece = tape.pieces[static_cast<size_t>(order_[i])];
    const size_t first = below_.size();
    // Searches from the nearest piece down. A piece held at the same time as one already in the list is below
    // that one, so it need not be in the list.
    for (size_t j = i; j-- > 0;) {
      const Tape::Piece& other = tape.pieces[static_cast<size_t>(order_[j])];
      if (!held_at_once(piece, other)) continue;
      const bool follows = std::any_of(
          below_.begin() + static_cast<int64_t>(first), below_.end(),
          [&](int32_t kept) { return held_at_once(other, tape.pieces[static_cast<size_t>(kept)]); });
      if (!follows) below_.push_back(order_[j]);
    }
    below_ptr_.push_back(static_cast<int32_t>(below_.size()));
  }
}

int64_t Layout::place(std::span<PlannedAllocation> pieces) const {
  int64_t high = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    PlannedAllocation& piece = pieces[static_cast<size_t>(order_[i])];
    piece.place = 0;
    for (int32_t b = below_ptr_[i]; b < below_ptr_[i + 1]; ++b) {
      const PlannedAllocation& below = pieces[static_cast<size_t>(below_[static_cast<size_t>(b)])];
      piece.place = std::max(piece.place, below.place + below.bytes);
    }
    high = std::max(high, piece.place + piece.bytes);
  }
  return high;
}

}  // namespace plimsoll

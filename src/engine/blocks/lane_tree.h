#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll {

/// Maximum number of lanes of a batch.
inline constexpr int64_t kMaxLanes = 64;

/// Lanes first .. end-1 of a batch.
struct LaneRange {
  int64_t first = 0;
  int64_t end = 0;
};

/// Returns the lanes of one rank of a run, which are consecutive. Every lane belongs to a rank.
inline LaneRange lanes_of_rank(int64_t lanes, int rank, int ranks) {
  const auto up = [&](int64_t r) { return (r * lanes + ranks - 1) / ranks; };
  return {up(rank), up(rank + 1)};
}

/// A node of the binary tree: the sum of `lanes` lanes from `first` on.
struct LaneNode {
  int64_t first = 0;
  int64_t lanes = 1;

  /// Returns whether the tree adds `right` to this node.
  bool is_left_of(const LaneNode& right) const { return lanes == right.lanes && first % (2 * lanes) == 0; }
};

/// Sums over the blocks of a batch, in an order that several processes can share.
///
/// A batch has a fixed number of lanes. Lane l of L has the blocks l B / L .. (l + 1) B / L - 1 of B, and
/// adds them in their order. A binary tree adds the lanes: (0 + 1) + (2 + 3). A sum therefore has the same
/// bits for any number of threads and ranks: each rank has consecutive lanes, and ends with the nodes of
/// the tree that these lanes fill. At most sets() sums exist at once; the constructor makes them. Not
/// thread-safe.
///
/// A Sum must have clear() and add(const Sum&).
template <typename Sum>
class LaneTree {
 public:
  /// Makes each sum with `make`. `lanes` is a power of two. `own` are the lanes that are added up here; an
  /// empty range means all.
  LaneTree(int64_t lanes, const std::function<Sum()>& make, LaneRange own = {})
      : LaneTree(lanes, make, own.end == 0 ? LaneRange{0, lanes} : own,
                 sets(own.end == 0 ? LaneRange{0, lanes} : own)) {}
  /// Makes `sets` sums.
  LaneTree(int64_t lanes, const std::function<Sum()>& make, LaneRange own, int64_t sets)
      : lanes_(lanes), own_(own) {
    sums_.reserve(static_cast<size_t>(sets));
    for (int64_t i = 0; i < sets; ++i) sums_.push_back({make(), {}});
  }

  /// Returns the number of sums that exist at once: log2(lanes) + 1 for a whole batch.
  static int64_t sets(LaneRange own) {
    std::vector<LaneNode> open;
    size_t max = 0;
    for (int64_t lane = own.first; lane < own.end; ++lane) {
      open.push_back({lane, 1});
      max = std::max(max, open.size());
      while (open.size() > 1 && open[open.size() - 2].is_left_of(open.back())) {
        open.pop_back();
        open.back().lanes *= 2;
      }
    }
    return static_cast<int64_t>(max);
  }
  static int64_t sets(int64_t lanes) { return sets(LaneRange{0, lanes}); }

  /// Starts a batch of `blocks` blocks.
  void begin(int64_t blocks) {
    blocks_ = blocks;
    lane_ = own_.first;
    added_ = lane_ * blocks / lanes_;
    open_ = 0;
    sums_.front().sum.clear();
  }

  /// Calls add_to(sum) for the next block, in the order of blocks.
  template <typename AddTo>
  void add(const AddTo& add_to) {
    while (added_ >= (lane_ + 1) * blocks_ / lanes_) end_lane();
    add_to(sums_[open_].sum);
    ++added_;
  }

  /// Call it after the last block. Returns the sum of all lanes if they are one node.
  Sum& end() {
    while (lane_ < own_.end) end_lane();
    return sums_.front().sum;
  }
  Sum& sum(size_t node = 0) { return sums_[node].sum; }
  const Sum& sum(size_t node = 0) const { return sums_[node].sum; }
  /// Number of tree nodes that the lanes have added up to, in the order of lanes. Call it after end().
  size_t nodes() const { return open_ + 1; }

 private:
  // Works like incrementing a binary counter: two sums over the same number of lanes become one.
  void end_lane() {
    sums_[open_].node = {lane_, 1};
    while (open_ > 0 && sums_[open_ - 1].node.is_left_of(sums_[open_].node)) {
      sums_[open_ - 1].sum.add(sums_[open_].sum);
      sums_[open_ - 1].node.lanes *= 2;
      --open_;
    }
    ++lane_;
    if (lane_ < own_.end) sums_[++open_].sum.clear();
  }

  struct Set {
    Sum sum;
    LaneNode node;
  };
  const int64_t lanes_;
  const LaneRange own_;
  std::vector<Set> sums_;
  size_t open_ = 0;  // Index of the sum of the current lane.
  int64_t blocks_ = 0;
  int64_t added_ = 0;
  int64_t lane_ = 0;
};

/// A sum of losses.
struct LossSum {
  double value = 0;
  void clear() { value = 0; }
  void add(const LossSum& right) { value += right.value; }
};

}  // namespace plimsoll

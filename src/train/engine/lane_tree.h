#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll {

/// The most lanes that a batch may have.
inline constexpr int64_t kMostLanes = 64;

/// Sums over the blocks of a batch, in an order that processes can share.
///
/// A batch has a fixed number of lanes. Lane l of L has the blocks l B / L .. (l + 1) B / L - 1 of B, and
/// adds them in their order; lanes are added by a binary tree, (0 + 1) + (2 + 3). So a sum has the same bits
/// for any number of threads, and for any number of processes that divides L, of which each takes lanes that
/// follow each other. At most sets(L) sums are there at once; they are made with the tree. Not thread-safe.
///
/// A Sum has clear() and add(const Sum&).
template <typename Sum>
class LaneTree {
 public:
  /// Makes each of its sums by `make`. `lanes`: a power of two.
  LaneTree(int64_t lanes, const std::function<Sum()>& make) : lanes_(lanes) {
    sums_.reserve(static_cast<size_t>(sets(lanes)));
    for (int64_t i = 0; i < sets(lanes); ++i) sums_.push_back({make(), 0});
  }

  /// log2(lanes) + 1.
  static int64_t sets(int64_t lanes) { return std::bit_width(static_cast<uint64_t>(lanes)); }

  /// A batch of so many blocks begins.
  void begin(int64_t blocks) {
    blocks_ = blocks;
    added_ = lane_ = 0;
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

  /// Behind the last block; the sum of all.
  Sum& end() {
    while (lane_ < lanes_) end_lane();
    return sums_.front().sum;
  }
  Sum& sum() { return sums_.front().sum; }
  const Sum& sum() const { return sums_.front().sum; }

 private:
  // As a binary counter is incremented: sums of as many lanes become one.
  void end_lane() {
    sums_[open_].lanes = 1;
    while (open_ > 0 && sums_[open_ - 1].lanes == sums_[open_].lanes) {
      sums_[open_ - 1].sum.add(sums_[open_].sum);
      sums_[open_ - 1].lanes *= 2;
      --open_;
    }
    ++lane_;
    if (lane_ < lanes_) sums_[++open_].sum.clear();
  }

  struct Set {
    Sum sum;
    int64_t lanes;
  };
  const int64_t lanes_;
  std::vector<Set> sums_;
  size_t open_ = 0;  // of the lane that is added to
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

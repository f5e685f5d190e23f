#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <exception>
#include <span>
#include <vector>

#include "engine/blocks/batch_sum.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/lane_tree.h"
#include "engine/blocks/slices.h"

namespace plimsoll {

/// How the lanes of a batch lie on the ranks of a run.
class RankLanes {
 public:
  RankLanes(int64_t lanes, int ranks);

  /// Sums that a rank has at once, and nodes of the tree that its lanes add up to: the most of any rank.
  int64_t sets() const { return sets_; }
  size_t max_nodes() const { return max_nodes_; }
  /// Nodes of all ranks.
  size_t nodes() const { return nodes_.size(); }
  /// Where the nodes of a rank begin among those of all, which are in the order of lanes.
  size_t begin(int rank) const { return begins_[static_cast<size_t>(rank)]; }
  size_t end(int rank) const { return begins_[static_cast<size_t>(rank) + 1]; }

  /// Calls add(left, right) for two nodes, in the order of the tree, until all are in node 0.
  template <typename Add>
  void fold(const Add& add) const {
    std::vector<std::pair<size_t, LaneNode>> open;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      open.emplace_back(n, nodes_[n]);
      while (open.size() > 1 && open[open.size() - 2].second.is_left_of(open.back().second)) {
        add(open[open.size() - 2].first, open.back().first);
        open.pop_back();
        open.back().second.lanes *= 2;
      }
    }
  }

 private:
  std::vector<LaneNode> nodes_;
  std::vector<size_t> begins_;  // one a rank, and the end
  int64_t sets_ = 0;
  size_t max_nodes_ = 0;
};

/// Adds up what the ranks of a run have found in their lanes of a batch, to the bits that one process finds.
/// Losses and statistics go to every rank; of the gradients a rank gets its slice alone, adds it up, and has
/// it updated; then the slices of the parameters go to every rank. So a rank sends a slice of each of its
/// sums, and one of the parameters, to each other: with a node a rank 2 (R - 1) / R of the parameters' bytes.
///
/// What goes wrong on one rank ends the batch on all: each says how its part ended before anything is added.
class LaneExchange {
 public:
  /// All must outlive it. `lanes` at least as many as ranks. Its memory is taken now, under Tag::gradients:
  /// bytes().
  LaneExchange(Exchange& exchange, const ParameterList& parameters, int64_t lanes);
  static int64_t bytes(const ParameterList& parameters, int64_t lanes, int ranks);
  /// Bytes that rank 0 sends in a step; the record of losses and the norm aside.
  static int64_t bytes_sent(const ParameterList& parameters, int64_t lanes, int ranks);

  int64_t row() const { return slices_.row(); }
  int64_t sets() const { return lanes_.sets(); }
  const Slices& slices() const { return slices_; }

  /// Of the next agreement rank 0's flag, known to all after it.
  void set_flag(bool flag) { flag_ = flag; }
  bool flag() const { return flag_; }

  /// Before this rank works on its lanes of a batch: begins to receive what the others will send, so that
  /// they need not wait until this one is done. add_up() of the same sums must follow, and no other message
  /// before it.
  void begin(const LaneTree<BatchSum>& sums);
  void begin_losses();
  /// The sum of this rank's lanes, or the error that ended them, meets those of the others. Returns the loss;
  /// running statistics have moved, and gradients() are those of the slice. Errors: `error`; what it means
  /// here that another rank had one: Interrupted where that may go on, Failure, RankLost.
  double add_up(LaneTree<BatchSum>& sums, const std::exception_ptr& error);
  /// The same of losses alone, in kMaxLanes lanes.
  double add_up(LaneTree<LossSum>& losses, const std::exception_ptr& error);

  /// f32, one for each piece of the slice; zeros until add_up().
  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  /// In place of begin() and add_up(), on every rank, for a batch of which there is nothing to add: zeros.
  /// The flag, on which nothing was agreed, is false.
  void clear() {
    received_.zero_();
    flag_ = false;
  }
  /// Begins to receive the slices of the parameters that the others update, into memory of `sums`.
  void begin_parameters(LaneTree<BatchSum>& sums);
  /// After begin_parameters(): every rank's slice of the parameters becomes known to all, by way of `sums`.
  void share_parameters(LaneTree<BatchSum>& sums);

  /// Of Exchange::traffic() the seconds that the slowest rank worked longer than this one.
  double seconds_for_slower() const { return seconds_for_slower_; }

  /// Memory that nobody uses between two steps: [row()] numbers.
  at::Tensor idle_row() { return received_.narrow(0, 0, slices_.row()); }

 private:
  void begin_records(const RankLanes& lanes, size_t of_node);
  std::span<double> record_of(int rank);
  std::span<double> values_of(const RankLanes& lanes, size_t node);
  void send_record(const std::exception_ptr& error);
  void agree(const RankLanes& lanes, const std::exception_ptr& error);

  Exchange& exchange_;
  const ParameterList& parameters_;
  const RankLanes lanes_;
  const RankLanes of_losses_;
  const Slices slices_;
  const std::vector<Slices::Piece> pieces_;
  at::Tensor received_;                // [nodes of all ranks, a slice]
  std::vector<at::Tensor> gradients_;  // views of node 0's
  std::vector<double> records_;        // of all ranks
  size_t of_node_ = 0;                 // numbers of a record for each node
  std::chrono::steady_clock::time_point begun_;
  double seconds_for_slower_ = 0;
  bool flag_ = false;
};

}  // namespace plimsoll

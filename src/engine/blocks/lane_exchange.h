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

/// The distribution of the lanes of a batch over the ranks of a run.
class RankLanes {
 public:
  RankLanes(int64_t lanes, int ranks);

  /// Number of sums that a rank holds at once: the maximum over all ranks.
  int64_t sets() const { return sets_; }
  /// Number of tree nodes that a rank's lanes add up to: the maximum over all ranks.
  size_t max_nodes() const { return max_nodes_; }
  /// Number of tree nodes of all ranks.
  size_t nodes() const { return nodes_.size(); }
  /// Index of a rank's first tree node among those of all ranks, which are in the order of lanes.
  size_t begin(int rank) const { return begins_[static_cast<size_t>(rank)]; }
  size_t end(int rank) const { return begins_[static_cast<size_t>(rank) + 1]; }

  /// Calls add(left, right) for pairs of nodes, in the order of the tree, until node 0 is the sum of all.
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
  std::vector<size_t> begins_;  // One entry per rank, and the end.
  int64_t sets_ = 0;
  size_t max_nodes_ = 0;
};

/// Adds the results that the ranks of a run have computed in their lanes of a batch. The sum has the same
/// bits as with one process. Losses and statistics are sent to every rank. A rank receives and adds only its
/// slice of the gradients, and it updates only its slice of the parameters; then the slices of the parameters
/// are sent to every rank. A rank therefore sends one slice of each of its sums, and one slice of the
/// parameters, to each other rank. With one tree node per rank, it sends 2 (R - 1) / R times the parameters'
/// bytes. Not thread-safe.
///
/// An error on one rank ends the batch on all ranks: each rank sends how its part ended before anything is
/// added.
class LaneExchange {
 public:
  /// All arguments must outlive the object. `lanes` is at least the number of ranks. The constructor
  /// allocates the memory for gradients under Tag::gradients. The records of losses and statistics, which
  /// begin() allocates, are not in the ledger. Errors: BudgetExceeded.
  LaneExchange(Exchange& exchange, const ParameterList& parameters, int64_t lanes);
  /// Returns the bytes that the constructor enters in the ledger.
  static int64_t bytes(const ParameterList& parameters, int64_t lanes, int ranks);
  /// Returns the bytes that rank 0 sends in a step, without the record of losses and the norm.
  static int64_t bytes_sent(const ParameterList& parameters, int64_t lanes, int ranks);
  /// Returns the bytes of the records of losses and statistics that a rank sends in a step, and of the
  /// records of losses that it sends in a validation.
  static int64_t record_bytes_sent(const ParameterList& parameters, int64_t lanes, int ranks);
  static int64_t validation_bytes_sent(int ranks);

  /// Size of the row of each BatchSum in this rank's LaneTree, and number of these sums.
  int64_t row() const { return slices_.row(); }
  int64_t sets() const { return lanes_.sets(); }
  const Slices& slices() const { return slices_; }

  /// Sets this rank's flag. In the next add_up(), all ranks get the flag of rank 0.
  void set_flag(bool flag) { flag_ = flag; }
  bool flag() const { return flag_; }

  /// Starts to receive the sums of the other ranks, so that they need not wait until this rank is done. Call
  /// it before this rank works on its lanes of a batch. add_up() of the same sums must follow, with no other
  /// exchange in between. begin_losses() does the same for losses. Errors: RankLost.
  void begin(const LaneTree<BatchSum>& sums);
  void begin_losses();
  /// Adds the sums of this rank's lanes, or the error that ended them, to those of the other ranks. Returns
  /// the loss. Afterwards running statistics are updated, and gradients() are those of the slice. Errors:
  /// `error`; if another rank had an error, Interrupted if that rank can continue later, otherwise Failure;
  /// RankLost.
  double add_up(LaneTree<BatchSum>& sums, const std::exception_ptr& error);
  /// Adds losses only; they are in kMaxLanes lanes.
  double add_up(LaneTree<LossSum>& losses, const std::exception_ptr& error);

  /// Returns f32 tensors, one per piece of the slice; zeros until add_up() is called.
  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  /// Replaces begin() and add_up(), on every rank, for a batch without items. Gradients become zeros, and the
  /// flag becomes false, because the ranks did not agree on anything.
  void clear() {
    received_.zero_();
    flag_ = false;
  }
  /// Starts to receive the slices of the parameters that the other ranks update, into memory of `sums`.
  void begin_parameters(LaneTree<BatchSum>& sums);
  /// After begin_parameters(): exchanges the slices of the parameters among all ranks, via memory of `sums`.
  /// Errors: RankLost.
  void share_parameters(LaneTree<BatchSum>& sums);

  /// The part of Exchange::traffic().seconds in which this rank was done and the slowest rank was still
  /// working.
  double seconds_for_slower() const { return seconds_for_slower_; }

  /// Memory that is unused between two steps: f32 [row()].
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
  at::Tensor received_;                // f32 [nodes of all ranks, slice].
  std::vector<at::Tensor> gradients_;  // Views of node 0's slice.
  std::vector<double> records_;        // Records of all ranks.
  size_t of_node_ = 0;                 // Numbers per tree node in a record.
  std::chrono::steady_clock::time_point begun_;
  double seconds_for_slower_ = 0;
  bool flag_ = false;
};

}  // namespace plimsoll

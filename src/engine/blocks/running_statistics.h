#pragma once

#include <span>
#include <vector>

#include "nn/block_statistics.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Moves running means and variances once a batch: by the mean over its blocks, weighted by their rows, of
/// what each block found. add() and commit() allocate nothing. Not thread-safe.
class RunningStatistics {
 public:
  /// `parameters` must outlive it; its buffers are what moves.
  explicit RunningStatistics(const ParameterList& parameters);

  /// Forgets what was added.
  void clear();
  /// Of one block, in the order of the blocks.
  void add(const BlockStatistics& block);
  /// What others, of the same parameters, were added.
  void add(const RunningStatistics& right);
  /// All sums as numbers, of which add() adds each to its own: how many, and from and into a place for them.
  size_t numbers() const;
  void write_to(double* place) const;
  void read_from(const double* place);
  /// running = (1 - momentum) running + momentum batch, as torch.nn.BatchNorm1d does it for its batch.
  void commit(double momentum = 0.1);

 private:
  struct Sum {
    double rows = 0;
    std::vector<double> values;
  };
  const ParameterList& parameters_;
  std::vector<Sum> sums_;  // one a buffer
};

}  // namespace plimsoll

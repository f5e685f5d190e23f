#pragma once

#include <span>
#include <vector>

#include "nn/block_statistics.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Updates running means and variances once per batch, with the mean of the blocks' statistics weighted by
/// their rows. add() and commit() do not allocate. Not thread-safe.
class RunningStatistics {
 public:
  /// `parameters` must outlive the object, which updates its buffers.
  explicit RunningStatistics(const ParameterList& parameters);

  /// Resets all sums to zero.
  void clear();
  /// Adds the statistics of one block. Call it in the order of the blocks.
  void add(const BlockStatistics& block);
  /// Adds the sums of another object, which must have the same parameters.
  void add(const RunningStatistics& right);
  /// The sums can be copied to and from a row of numbers() numbers, such that adding two rows adds the sums.
  size_t numbers() const;
  void write_to(double* place) const;
  void read_from(const double* place);
  /// Computes running = (1 - momentum) running + momentum batch, as torch.nn.BatchNorm1d does for its batch.
  void commit(double momentum = 0.1);

 private:
  struct Sum {
    double rows = 0;
    std::vector<double> values;
  };
  const ParameterList& parameters_;
  std::vector<Sum> sums_;  // One entry per buffer.
};

}  // namespace plimsoll

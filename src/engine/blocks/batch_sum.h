#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/blocks/row_marks.h"
#include "engine/blocks/running_statistics.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The gradients of one block, on the CPU.
struct BlockGradients {
  std::vector<at::Tensor> values;  ///< f32, one per parameter and of its shape, except for `table`.
  /// The parameter whose entry in `values` holds only rows [N, F]; undefined if none does.
  at::Tensor table;
  at::Tensor ids;  ///< i64 [N], the index of each of these rows in the table.
};

/// Sums over the blocks of a batch: the gradient of each parameter, the statistics of normalising layers, and
/// the loss. The constructor allocates all memory, gradients under Tag::gradients. Not thread-safe.
class BatchSum {
 public:
  /// `parameters` must outlive the sum. If `row` is positive, the gradients are consecutive views of one row.
  /// The row has `row` numbers, and those after the last gradient are 0. If `row` is 0, each gradient has
  /// separate memory, and the rows of lazy parameters are marked. Errors: BudgetExceeded.
  explicit BatchSum(const ParameterList& parameters, int64_t row = 0);

  /// Sets all sums to 0.
  void clear();
  /// Adds the sums of another object, which must have the same parameters and the same `row`.
  void add(const BatchSum& right);
  /// Adds one block. `loss` is the sum of its losses divided by the number of items of the batch.
  void add(const BlockGradients& gradients, const BlockStatistics& statistics, double loss);

  at::Tensor row;                     ///< f32 [row]; undefined if `row` was 0.
  std::vector<at::Tensor> gradients;  ///< f32, one per parameter and of its shape.
  std::vector<RowMarks> rows;         ///< The rows of each gradient that may differ from 0.
  RunningStatistics statistics;
  double loss = 0;

 private:
  void add_rows(size_t parameter, const at::Tensor& values, const at::Tensor& ids);

  const ParameterList& parameters_;
};

}  // namespace plimsoll

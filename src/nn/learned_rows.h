#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nn/parameters.h"

namespace plimsoll {

/// The rows of a table of embeddings that one block looked up. A loss is differentiated with respect to these
/// rows, so its gradient has the size of the block, not of the table.
struct LearnedRows {
  at::Tensor table;  ///< f32 [R, F], the parameter; undefined if nothing was looked up.
  at::Tensor ids;    ///< i64 [N], the index of each row in the parameter.
  at::Tensor rows;   ///< f32 [N, F], a leaf that requires a gradient.
};

/// While it exists, learned_rows() on this thread looks up rows as leaves, and keeps them here. Scopes cannot
/// be nested: the constructor then throws Failure.
class LearnedRowsScope {
 public:
  LearnedRowsScope();
  ~LearnedRowsScope();
  LearnedRowsScope(const LearnedRowsScope&) = delete;
  LearnedRowsScope& operator=(const LearnedRowsScope&) = delete;

  /// Returns the lookup so far.
  const LearnedRows& found() const { return found_; }
  /// Returns the tensors to differentiate with respect to: `parameters`, with the looked-up rows in place of
  /// their table.
  std::vector<at::Tensor> leaves(std::vector<at::Tensor> parameters) const;

 private:
  friend at::Tensor learned_rows(const ParameterList::Entry& table, const at::Tensor& ids);
  LearnedRows found_;
};

/// Returns the rows of a parameter f32 [R, F] with the indices `ids` i64 [N], below R: f32 [N, F]. Gradients
/// go to the table or, inside a LearnedRowsScope, to the rows that it keeps. If gradients are disabled, a
/// scope has no effect. The rows of a table on a disk have gradients only inside a scope, and the indices
/// found are those of slots (nn/stored_rows.h). Errors: Failure for a second lookup in a scope, and those of
/// StoredRows.
at::Tensor learned_rows(const ParameterList::Entry& table, const at::Tensor& ids);

}  // namespace plimsoll

#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/blocks/exchange.h"
#include "engine/blocks/slices.h"
#include "engine/fit/optimizer.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The optimizer's state as one process would have it, gathered from the slices of all ranks, so that a
/// checkpoint is the same for any number of ranks. Rank 0 stores it in rows of memory that are unused between
/// two steps.
class WholeState {
 public:
  /// `rows` has a row of slices.row() numbers for each kind of state, at most two. All arguments must outlive
  /// the object. Errors: Failure if there are more kinds than rows.
  WholeState(Exchange& exchange, const Slices& slices, const ParameterList& parameters,
             const Optimizer& optimizer, std::vector<at::Tensor> rows);

  /// Copies the state of all ranks to rank 0. All ranks must call it. Errors: RankLost.
  void gather();
  /// Copies the state from rank 0 back to all ranks. All ranks must call it. Errors: RankLost.
  void scatter();
  /// On rank 0: returns views of the rows, by the names that one process uses.
  std::map<std::string, std::span<float>> tensors() const;

 private:
  std::vector<std::string> kinds() const;
  // Calls visit(values on rank 0) for each piece of a rank's state, kind by kind.
  template <typename Visit>
  void visit_pieces(int rank, const Visit& visit) const;
  std::span<float> own(size_t place) const;

  Exchange& exchange_;
  const Slices& slices_;
  const ParameterList& parameters_;
  const Optimizer& optimizer_;
  const std::vector<at::Tensor> rows_;
};

}  // namespace plimsoll

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

/// The optimizer's state, of which each rank of a run has its slice, as one process has it: so that a
/// checkpoint is the same for any number of ranks. It lies on rank 0, in rows of memory that nobody uses
/// between two steps.
class WholeState {
 public:
  /// `rows`: [slices.row()] numbers for each kind of state; there are two at most. All must outlive it.
  WholeState(Exchange& exchange, const Slices& slices, const ParameterList& parameters,
             const Optimizer& optimizer, std::vector<at::Tensor> rows);

  /// From all ranks to rank 0.
  void gather();
  /// And back.
  void scatter();
  /// On rank 0, by the names that one process gives them: views of the rows.
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

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "nn/parameters.h"

namespace plimsoll {

/// The parameters of a model as one row of numbers, in their order, cut into slices of one size, the last of
/// which may be shorter: each rank of a run updates one, and has the optimizer's state for it alone (ZeRO,
/// Rajbhandari et al., SC 2020, stage 1). Immutable.
class Slices {
 public:
  Slices(const ParameterList& parameters, int ranks);

  /// Numbers of a slice, and of as many slices as there are ranks: the row with zeros after its end.
  int64_t size() const { return size_; }
  int64_t row() const { return size_ * ranks_; }
  int ranks() const { return ranks_; }

  /// Where a parameter begins in the row.
  int64_t begin(size_t parameter) const { return begins_[parameter]; }

  /// What a slice has of one parameter.
  struct Piece {
    size_t parameter = 0;
    int64_t first = 0;  ///< number of the parameter
    int64_t count = 0;
    bool ends = false;  ///< with the parameter's last number
  };
  /// Of rank r's slice, in the order of the row.
  std::vector<Piece> pieces(int rank) const;

 private:
  const int ranks_;
  std::vector<int64_t> begins_;  // one for each parameter, and the end
  int64_t size_ = 0;
};

/// The parameters that an optimizer updates on a rank: all of them, or views, [count], of its slice's pieces.
std::vector<at::Tensor> values_of_rank(const ParameterList& parameters, int rank, int ranks);

}  // namespace plimsoll

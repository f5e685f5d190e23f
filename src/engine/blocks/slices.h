#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "nn/parameters.h"

namespace plimsoll {

/// The parameters of a model as one row of numbers, in their order, cut into one slice per rank. All slices
/// have the same size, but the last ones may contain fewer parameters, or none. Each rank of a run updates
/// one slice, and holds the optimizer's state for this slice alone (ZeRO stage 1, Rajbhandari et al., SC
/// 2020). Immutable.
class Slices {
 public:
  Slices(const ParameterList& parameters, int ranks);

  /// size() is the length of a slice. row() is the length of all slices together: all parameters, padded with
  /// zeros.
  int64_t size() const { return size_; }
  int64_t row() const { return size_ * ranks_; }
  int ranks() const { return ranks_; }

  /// Index in the row at which a parameter starts.
  int64_t begin(size_t parameter) const { return begins_[parameter]; }

  /// The part of one parameter that is in a slice.
  struct Piece {
    size_t parameter = 0;
    int64_t first = 0;  ///< Index of the first number within the parameter.
    int64_t count = 0;
    bool ends = false;  ///< Whether the piece ends with the parameter's last number.
  };
  /// The pieces of a rank's slice, in the order of the row.
  std::vector<Piece> pieces(int rank) const;

 private:
  const int ranks_;
  std::vector<int64_t> begins_;  // One entry per parameter, and the end.
  int64_t size_ = 0;
};

/// Returns the parameters that an optimizer updates on a rank: all of them or, with several ranks, views
/// [count] of the pieces of its slice.
std::vector<at::Tensor> values_of_rank(const ParameterList& parameters, int rank, int ranks);
/// Returns, for each tensor of values_of_rank(), whether it is lazy (ParameterList::Entry).
std::vector<bool> laziness_of_rank(const ParameterList& parameters, int rank, int ranks);

}  // namespace plimsoll

#include "engine/blocks/slices.h"

#include <algorithm>

namespace plimsoll {

Slices::Slices(const ParameterList& parameters, int ranks) : ranks_(ranks) {
  int64_t end = 0;
  for (const ParameterList::Entry& entry : parameters.entries()) {
    begins_.push_back(end);
    end += entry.value.numel();
  }
  begins_.push_back(end);
  size_ = (end + ranks - 1) / ranks;
}

std::vector<Slices::Piece> Slices::pieces(int rank) const {
  const int64_t first = rank * size_;
  const int64_t end = std::min(first + size_, begins_.back());
  std::vector<Piece> pieces;
  for (size_t p = 0; p + 1 < begins_.size(); ++p) {
    const int64_t from = std::max(first, begins_[p]);
    const int64_t to = std::min(end, begins_[p + 1]);
    if (from < to) pieces.push_back({p, from - begins_[p], to - from, to == begins_[p + 1]});
  }
  return pieces;
}

std::vector<at::Tensor> values_of_rank(const ParameterList& parameters, int rank, int ranks) {
  std::vector<at::Tensor> values;
  if (ranks == 1) {
    for (const ParameterList::Entry& entry : parameters.entries()) values.push_back(entry.value);
    return values;
  }
  for (const Slices::Piece& piece : Slices(parameters, ranks).pieces(rank))
    values.push_back(
        parameters.entries()[piece.parameter].value.detach().view(-1).narrow(0, piece.first, piece.count));
  return values;
}

std::vector<bool> laziness_of_rank(const ParameterList& parameters, int rank, int ranks) {
  std::vector<bool> lazy;
  if (ranks == 1) {
    for (const ParameterList::Entry& entry : parameters.entries()) lazy.push_back(entry.lazy);
    return lazy;
  }
  for (const Slices::Piece& piece : Slices(parameters, ranks).pieces(rank))
    lazy.push_back(parameters.entries()[piece.parameter].lazy);
  return lazy;
}

}  // namespace plimsoll

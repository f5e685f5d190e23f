#include "engine/fit/whole_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {

WholeState::WholeState(Exchange& exchange, const Slices& slices, const ParameterList& parameters,
                       const Optimizer& optimizer, std::vector<at::Tensor> rows)
    : exchange_(exchange),
      slices_(slices),
      parameters_(parameters),
      optimizer_(optimizer),
      rows_(std::move(rows)) {
  if (kinds().size() > rows_.size())
    throw Failure("the optimizer has more kinds of state than there are rows to store them");
}

// The state is named KIND.0, KIND.1, ..., with a number for each piece of the slice.
std::vector<std::string> WholeState::kinds() const {
  std::vector<std::string> kinds;
  const auto state = optimizer_.state();
  const size_t pieces = slices_.pieces(exchange_.rank()).size();
  for (size_t first = 0; first < state.size(); first += pieces) {
    const std::string& name = state[first].first;
    kinds.push_back(name.substr(0, name.rfind('.')));
  }
  return kinds;
}

template <typename Visit>
void WholeState::visit_pieces(int rank, const Visit& visit) const {
  const std::vector<Slices::Piece> pieces = slices_.pieces(rank);
  const size_t count = kinds().size();
  for (size_t k = 0; k < count; ++k)
    for (const Slices::Piece& piece : pieces)
      visit(std::span(rows_[k].data_ptr<float>() + slices_.begin(piece.parameter) + piece.first,
                      static_cast<size_t>(piece.count)));
}

std::span<float> WholeState::own(size_t place) const {
  const at::Tensor value = optimizer_.state()[place].second;
  return {value.data_ptr<float>(), static_cast<size_t>(value.numel())};
}

void WholeState::gather() {
  size_t place = 0;
  if (exchange_.rank() == 0) {
    visit_pieces(0, [&](std::span<float> whole) { std::ranges::copy(own(place++), whole.begin()); });
    for (int rank = 1; rank < exchange_.ranks(); ++rank)
      visit_pieces(rank,
                   [&](std::span<float> whole) { exchange_.receive(rank, std::as_writable_bytes(whole)); });
  } else {
    for (; place < optimizer_.state().size(); ++place) exchange_.send(0, std::as_bytes(own(place)));
  }
  exchange_.wait();
}

void WholeState::scatter() {
  size_t place = 0;
  if (exchange_.rank() == 0) {
    visit_pieces(0, [&](std::span<float> whole) { std::ranges::copy(whole, own(place++).begin()); });
    for (int rank = 1; rank < exchange_.ranks(); ++rank)
      visit_pieces(rank, [&](std::span<float> whole) { exchange_.send(rank, std::as_bytes(whole)); });
  } else {
    for (; place < optimizer_.state().size(); ++place)
      exchange_.receive(0, std::as_writable_bytes(own(place)));
  }
  exchange_.wait();
}

std::map<std::string, std::span<float>> WholeState::tensors() const {
  std::map<std::string, std::span<float>> tensors;
  const std::vector<std::string> names = kinds();
  for (size_t k = 0; k < names.size(); ++k)
    for (size_t p = 0; p < parameters_.entries().size(); ++p)
      tensors[fmt::format("{}.{}", names[k], p)] = {
          rows_[k].data_ptr<float>() + slices_.begin(p),
          static_cast<size_t>(parameters_.entries()[p].value.numel())};
  return tensors;
}

}  // namespace plimsoll

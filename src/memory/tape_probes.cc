#include "memory/tape_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace plimsoll {
namespace {

// Returns the first position at which two tapes differ in their sequence.
std::optional<size_t> first_difference(const Tape& a, const Tape& b) {
  for (size_t i = 0; i < std::min(a.pieces.size(), b.pieces.size()); ++i) {
    const Tape::Piece& p = a.pieces[i];
    const Tape::Piece& q = b.pieces[i];
    if (p.taken != q.taken || p.given != q.given || p.workspace != q.workspace || p.operation != q.operation)
      return i;
  }
  if (a.pieces.size() != b.pieces.size()) return std::min(a.pieces.size(), b.pieces.size());
  return std::nullopt;
}

}  // namespace

void TapeProbes::add(Tape tape, const Terms& terms) {
  Sizes sizes;
  sizes.as_they_come =
      packed_as_they_come(tape) + std::ssize(tape.pieces) * (rooms_.alignment - Packing::kAlignment);
  if (!empty() && difference_.empty()) compare(tape);
  if (difference_.empty()) {
    sizes.bytes.reserve(tape.pieces.size());
    for (const Tape::Piece& piece : tape.pieces) {
      sizes.bytes.push_back(piece.bytes);
      if (!piece.workspace) continue;
      sizes.workspace.push_back(piece.pieces);
      sizes.workspace.push_back(piece.room);
    }
  }
  if (empty()) first_ = std::move(tape);
  terms_.push_back(terms);
  sizes_.push_back(std::move(sizes));
}

void TapeProbes::compare(const Tape& tape) {
  const auto at = first_difference(first_, tape);
  if (!at) return;
  const Tape& longer = *at < first_.pieces.size() ? first_ : tape;
  difference_ =
      fmt::format("the allocations of {} depend on the data, not only on counts",
                  longer.pieces[*at].operation.empty() ? "an operation" : longer.pieces[*at].operation);
  for (Sizes& sizes : sizes_) {
    sizes.bytes = {};
    sizes.workspace = {};
  }
}

}  // namespace plimsoll

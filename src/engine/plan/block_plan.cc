#include "engine/plan/block_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

// The operation that asked for a piece, in words.
std::string describe(const Tape& tape, int64_t piece) {
  if (piece < 0) return "";
  const std::string& operation = tape.pieces[static_cast<size_t>(piece)].operation;
  return operation.empty() ? "an operation" : operation;
}

}  // namespace

void BlockPlan::lay_out(bool closed, const Terms& lowest, const Terms& highest) {
  Kind& of = kind(closed);
  std::vector<PlannedPiece> pieces(of.model.tape().pieces.size());
  if (!of.model.same_sequence()) return;
  of.model.highest_rooms(lowest, highest, pieces);
  of.layout = Layout(of.model.tape(), pieces);
  of.laid_out = true;
}

void BlockPlan::lay_out(const BlockTerms& block) {
  Kind& of = kind(block.closed);
  if (!of.model.same_sequence()) return;
  std::vector<PlannedPiece> pieces(of.model.tape().pieces.size());
  of.model.rooms(block.terms, pieces);
  Layout layout(of.model.tape(), pieces);
  if (of.laid_out && of.layout.place(pieces) <= layout.place(pieces)) return;
  of.layout = std::move(layout);
  of.laid_out = true;
}

void BlockPlan::plan(std::span<const int64_t> graphs, RangePlan& plan) const {
  this->plan(terms(graphs), plan);
}

void BlockPlan::plan(const BlockTerms& block, RangePlan& plan) const {
  const Kind& of = kind(block.closed);
  plan.pieces.clear();
  if (!of.model.same_sequence()) {
    plan.bytes = of.model.envelope(block.terms);
    return;
  }
  if (plan.pieces.capacity() < max_pieces()) {
    decltype(plan.pieces)().swap(plan.pieces);
    plan.pieces.reserve(max_pieces());
  }
  plan.pieces.resize(of.model.tape().pieces.size());
  of.model.rooms(block.terms, plan.pieces);
  plan.bytes = of.layout.place(plan.pieces);
  if (nodes_judged(block.terms) >= 2) return;
  // A single row is contiguous however it is cut, and has no variance, so torch and batch normalisation take
  // other code paths. The tensors are placed wherever there is free space.
  plan.bytes = std::max(2 * plan.bytes, of.model.envelope(block.terms));
  plan.pieces.clear();
}

size_t BlockPlan::max_pieces() const {
  return std::max(kinds_[0].model.tape().pieces.size(), kinds_[1].model.tape().pieces.size());
}

int64_t BlockPlan::bytes(const BlockTerms& block) const {
  thread_local RangePlan plan;
  this->plan(block, plan);
  return plan.bytes;
}

int64_t BlockPlan::highest_bytes(bool closed, const Terms& lowest, const Terms& highest) const {
  const Kind& of = kind(closed);
  if (!of.model.same_sequence()) return of.model.envelope(highest);
  std::vector<PlannedPiece> pieces(of.model.tape().pieces.size());
  of.model.highest_rooms(lowest, highest, pieces);
  return of.layout.place(pieces);
}

BlockPlan::Peak BlockPlan::peak(const BlockTerms& block) const {
  const Kind& of = kind(block.closed);
  if (!of.model.same_sequence())
    return {of.model.envelope(block.terms), "operations that differ between blocks"};
  const Tape::Peak peak = of.model.peak(block.terms);
  return {peak.bytes, describe(of.model.tape(), peak.piece)};
}

bool BlockPlan::exact() const {
  return difference().empty();
}

std::string BlockPlan::difference() const {
  if (!noted_.empty()) return noted_;
  for (const Kind& of : kinds_)
    if (!of.model.exact()) return of.model.difference();
  return "";
}

}  // namespace plimsoll

#include "engine/plan/block_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

// Returns a description of the operation that requested a piece.
std::string describe(const Tape& tape, int64_t piece) {
  if (piece < 0) return "";
  const std::string_view operation = tape.pieces[static_cast<size_t>(piece)].operation;
  return std::string(operation.empty() ? "an operation" : operation);
}

}  // namespace

void BlockPlan::lay_out(bool closed, const Terms& lowest, const Terms& highest) {
  Kind& planned = kind(closed);
  std::vector<PlannedAllocation> pieces(planned.model.tape().pieces.size());
  if (!planned.model.same_sequence()) return;
  planned.model.highest_rooms(lowest, highest, pieces);
  planned.layout = Layout(planned.model.tape(), pieces);
  planned.laid_out = true;
}

void BlockPlan::lay_out(const BlockTerms& block) {
  Kind& planned = kind(block.closed);
  if (!planned.model.same_sequence()) return;
  std::vector<PlannedAllocation> pieces(planned.model.tape().pieces.size());
  planned.model.rooms(block.terms, pieces);
  Layout layout(planned.model.tape(), pieces);
  if (planned.laid_out && planned.layout.place(pieces) <= layout.place(pieces)) return;
  planned.layout = std::move(layout);
  planned.laid_out = true;
}

void BlockPlan::plan(std::span<const int64_t> graphs, RangePlan& plan) const {
  this->plan(terms(graphs), plan);
}

void BlockPlan::plan(const BlockTerms& block, RangePlan& plan) const {
  const Kind& planned = kind(block.closed);
  plan.pieces.clear();
  if (!planned.model.same_sequence()) {
    plan.bytes = planned.model.envelope(block.terms);
    return;
  }
  if (plan.pieces.capacity() < max_pieces()) {
    decltype(plan.pieces)().swap(plan.pieces);
    plan.pieces.reserve(max_pieces());
  }
  plan.pieces.resize(planned.model.tape().pieces.size());
  planned.model.rooms(block.terms, plan.pieces);
  plan.bytes = planned.layout.place(plan.pieces);
  if (nodes_computed(block.terms) >= 2) return;
  // A single row is contiguous however it is cut, and has no variance, so torch and batch normalisation use
  // other code paths for it. Its tensors are placed wherever there is free space.
  plan.bytes = std::max(2 * plan.bytes, planned.model.envelope(block.terms));
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
  const Kind& planned = kind(closed);
  if (!planned.model.same_sequence()) return planned.model.envelope(highest);
  std::vector<PlannedAllocation> pieces(planned.model.tape().pieces.size());
  planned.model.highest_rooms(lowest, highest, pieces);
  return planned.layout.place(pieces);
}

BlockPlan::Peak BlockPlan::peak(const BlockTerms& block) const {
  const Kind& planned = kind(block.closed);
  if (!planned.model.same_sequence())
    return {planned.model.envelope(block.terms), "operations that differ between blocks"};
  const Tape::Peak peak = planned.model.peak(block.terms);
  return {peak.bytes, describe(planned.model.tape(), peak.piece)};
}

bool BlockPlan::exact() const {
  return difference().empty();
}

std::string BlockPlan::difference() const {
  if (!noted_.empty()) return noted_;
  for (const Kind& planned : kinds_)
    if (!planned.model.exact()) return planned.model.difference();
  return "";
}

}  // namespace plimsoll

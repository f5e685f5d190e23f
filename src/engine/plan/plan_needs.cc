#include "engine/plan/plan_needs.h"

#include "engine/blocks/lane_tree.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Returns the bytes of the lists of block starts. Three lists exist at the same time: for the batch that
// runs, for the announced batch, and one that grows. A fourth is divided among the passes of a teacher. Each
// may have a capacity of twice its size, and the growing list may also have its former memory.
int64_t list_bytes(const AllWork& work) {
  const int64_t max_at_once = std::max(work.prediction.max_at_once, work.main().max_at_once);
  const int64_t lists = work.teaching != nullptr ? 4 : 3;
  return (lists * 2 + 1) * int64_t{sizeof(int64_t)} * (max_at_once + 1);
}

// Returns the bytes of the sums over lanes (engine/blocks/batch_sum.h).
int64_t gradient_bytes(const PlanInput& input) {
  const ParameterList& parameters = input.objective->parameters();
  if (input.ranks > 1)
    return RankLanes(input.lanes, input.ranks).sets() *
           tensor_heap_bytes(Slices(parameters, input.ranks).row() * int64_t{sizeof(float)});
  int64_t bytes = 0;
  for (const ParameterList::Entry& entry : parameters.entries()) {
    bytes += tensor_heap_bytes(static_cast<int64_t>(entry.value.nbytes()));
    if (entry.lazy) bytes += RowMarks::bytes(entry.value.size(0), entry.stored != nullptr);
  }
  return LaneTree<BatchSum>::sets(input.lanes) * bytes;
}

}  // namespace

BlockSize AllWork::largest_block() const {
  const BlockSize predicted = prediction.largest();
  if (training == nullptr) return predicted;
  const BlockSize trained = training->largest();
  return {std::max(predicted.graphs, trained.graphs), std::max(predicted.nodes, trained.nodes),
          std::max(predicted.edges, trained.edges), std::max(predicted.pairs, trained.pairs)};
}

PlanNeeds needs_of(const PlanInput& input, const AllWork& work) {
  const PlannedWork& main = work.main();
  const PlannedWork& teaching = work.teaching != nullptr ? *work.teaching : work.prediction;
  PlanNeeds needs;
  needs.worst =
      (std::max({main.max_bytes, work.prediction.max_bytes, teaching.max_bytes, int64_t{1}}) + 4095) / 4096 *
      4096;
  needs.mean = static_cast<int64_t>(
      std::max(main.mean_bytes, work.teaching != nullptr ? work.teaching->mean_bytes : 0.0));
  const size_t pieces =
      std::max({main.plan->max_pieces(), work.prediction.plan->max_pieces(), teaching.plan->max_pieces()});
  needs.graphs = GraphBlock::bytes_for(work.largest_block(), input.source->room()) +
                 static_cast<int64_t>(pieces * sizeof(PlannedAllocation));
  needs.heap = heap_slack_per_block(pieces);
  needs.objects = heap_slack_of_parameters(input.objective->parameters().entries().size());
  const Ledger& ledger = Ledger::process();
  needs.gradients = gradient_bytes(input);
  if (input.ranks > 1)
    needs.exchange = LaneExchange::bytes(input.objective->parameters(), input.lanes, input.ranks);
  needs.lists = list_bytes(work) + input.later;
  needs.fixed = ledger.held() + input.missing.sum() + needs.gradients + needs.exchange + needs.lists;
  needs.cap = input.memory.cap.value_or(ledger.cap());
  return needs;
}

}  // namespace plimsoll

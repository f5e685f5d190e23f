#include "engine/plan/planned_work.h"

#include <algorithm>

#include "engine/blocks/item_kind.h"
#include "engine/blocks/order_terms.h"

namespace plimsoll {
namespace {

// Maximum number of graphs whose blocks are visited one by one. With more graphs, the corner of the limits is
// used.
constexpr int64_t kMaxVisited = 20'000'000;

// Finds the maximum number of consecutive blocks within `batch` graphs, which are one batch or one list to
// predict. Blocks must be added in the order in which they are visited.
struct BlocksAtOnce {
  int64_t batch;  // Number of graphs.
  int64_t max = 0;
  int64_t count = 0;
  const int64_t* begin = nullptr;
  const int64_t* end = nullptr;

  void add(std::span<const int64_t> block) {
    if (block.data() != end || block.data() + block.size() > begin + batch) {
      begin = block.data();
      count = 0;
    }
    end = block.data() + block.size();
    max = std::max(max, ++count);
  }
};

}  // namespace

PlannedWork::PlannedWork(const PlanInput& in, WorkKind work_kind)
    : input(&in),
      kind(work_kind),
      objective(work_kind == WorkKind::teaching ? &in.offloaded_teacher->objective() : in.objective),
      options(objective->collate_options()),
      plan(std::make_shared<BlockPlan>(in.block_shapes(), options)) {
  BlockTerms terms;
  BlocksAtOnce at_once{kind == WorkKind::training   ? in.batch_size
                       : kind == WorkKind::teaching ? in.offloaded_teacher->max_graphs()
                                                    : in.source->graphs()};
  all_known = visit([&](std::span<const int64_t> block) {
    at_once.add(block);
    count_terms(block, in.block_shapes(), options, terms);
    boxes[terms.closed ? 1 : 0].add(terms.terms);
    ++blocks;
  });
  max_at_once = all_known ? at_once.max : std::min(in.batch_size, static_cast<int64_t>(in.training.size()));
  if (all_known) return;
  if (const BoundedGraphs& later = in.shapes.bounded(); !later.empty()) {
    count_terms(std::span(&later.first, 1), in.block_shapes(), options, terms);
    boxes[terms.closed ? 1 : 0].add(terms.terms);
    return;
  }
  // Small graphs and a large graph may form a piece that is too large to be closed.
  const Terms open = corner(in.training, in.block_shapes(), in.limits, options, false);
  Terms min(open.size(), 0);
  min[kOne] = 1;
  if (open[kParts] == 0 && open[kNodes] > OrderTerms::kMaxPieceNodes)
    boxes[0].count = std::max<int64_t>(boxes[0].count, 1);
  for (const bool closed : {false, true})
    if (boxes[closed ? 1 : 0].count > 0)
      boxes[closed ? 1 : 0].widen(min, corner(in.training, in.block_shapes(), in.limits, options, closed));
}

// Returns the number of epochs whose blocks have different shapes.
int64_t PlannedWork::known_epochs() const {
  const BoundedGraphs& later = input->shapes.bounded();
  if (later.empty()) return input->epochs;
  return std::min(input->epochs, later.first / static_cast<int64_t>(input->training.size()));
}

bool PlannedWork::visit(const std::function<void(std::span<const int64_t>)>& block) const {
  bool all = true;
  if (kind != WorkKind::prediction && !input->training.empty())
    all = visit_training_blocks(input->order(), known_epochs(), input->batch_size, input->shapes,
                                input->limits, kMaxVisited, block) &&
          known_epochs() == input->epochs;
  if (kind != WorkKind::training)
    for (const std::span<const int64_t> list : input->predicted)
      visit_blocks(list, input->shapes, input->limits, block);
  return all;
}

void PlannedWork::find_worst() {
  int64_t sum = 0;
  max_bytes = 0;
  BlockTerms terms;
  visit([&](std::span<const int64_t> block) {
    count_terms(block, input->block_shapes(), options, terms);
    const int64_t bytes = plan->bytes(terms);
    sum += bytes;
    if (bytes <= max_bytes) return;
    max_bytes = bytes;
    worst.assign(block.begin(), block.end());
  });
  mean_bytes = static_cast<double>(sum) / static_cast<double>(std::max<int64_t>(blocks, 1));
  if (all_known) return;
  for (const bool closed : {false, true}) {
    const TermBox& box = boxes[closed ? 1 : 0];
    if (box.count > 0) max_bytes = std::max(max_bytes, plan->highest_bytes(closed, box.lowest, box.highest));
  }
}

Tape PlannedWork::record(BlockEngine& engine, const GraphBlock& block, const RangePlan& range) const {
  return kind == WorkKind::teaching ? engine.record_teaching(block, range)
                                    : engine.record(block, kind == WorkKind::training, range);
}

BlockSize PlannedWork::largest() const {
  BlockSize size;
  for (const TermBox& box : boxes) {
    if (box.count == 0) continue;
    size.graphs = std::max(size.graphs, box.highest[kGraphs]);
    size.nodes = std::max(size.nodes, box.highest[kNodes]);
    size.edges = std::max(size.edges, box.highest[kEdges]);
    size.pairs = std::max(size.pairs, item_kind(options.items).pairs(box.highest));
  }
  return size;
}

}  // namespace plimsoll

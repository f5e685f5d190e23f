#include "engine/blocks/offloaded_teacher.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace plimsoll {

OffloadedTeacher::OffloadedTeacher(const Objective& objective, std::function<void()> release,
                                   std::span<const GraphShape> shapes, const TrainingSplit& split,
                                   const TrainingSection& training)
    : objective_(objective),
      release_(std::move(release)),
      shapes_(shapes),
      of_nodes_(objective.collate_options().items == Items::nodes),
      // The recipe's batch may be larger than the split.
      max_graphs_(std::min(
          std::max(training.batch_size, training.block.graphs),
          static_cast<int64_t>(std::max({size_t{1}, split.training.size(), split.validation.size()})))) {
  int64_t largest = 1;
  for (const GraphList* graphs : {&split.training, &split.validation})
    for (const int64_t g : *graphs) largest = std::max(largest, rows_of(g));
  const int64_t min_rows = std::max(largest, of_nodes_ ? training.block.nodes : training.block.graphs);
  const int64_t row_bytes = objective.outputs() * int64_t{sizeof(float)};
  max_rows_ = std::min(max_graphs_ * largest, std::max(min_rows, kMaxBytes / row_bytes));
}

RowWidths OffloadedTeacher::with_outputs(RowWidths widths) const {
  widths.teacher = {objective_.outputs(), of_nodes_};
  return widths;
}

int64_t OffloadedTeacher::bytes() const {
  return max_rows_ * objective_.outputs() * int64_t{sizeof(float)} + max_graphs_ * int64_t{sizeof(int64_t)};
}

void OffloadedTeacher::make_room() {
  values_.assign(static_cast<size_t>(max_rows_ * objective_.outputs()), 0.0F);
  // Assigning writes the values, so that their pages are resident.
  first_row_.assign(static_cast<size_t>(max_graphs_), 0);
  clear();
}

void OffloadedTeacher::clear() {
  first_row_.clear();
  next_row_ = 0;
}

int64_t OffloadedTeacher::rows_of(int64_t graph) const {
  return of_nodes_ ? shapes_[static_cast<size_t>(graph)].nodes : 1;
}

bool OffloadedTeacher::add(std::span<const int64_t> block) {
  int64_t rows = 0;
  for (const int64_t g : block) rows += rows_of(g);
  if (next_row_ + rows > max_rows_ || first_row_.size() + block.size() > static_cast<size_t>(max_graphs_))
    return false;
  for (const int64_t g : block) {
    first_row_.push_back(next_row_);
    next_row_ += rows_of(g);
  }
  return true;
}

at::Tensor OffloadedTeacher::rows(const GraphBlock& block, int64_t first) {
  const int64_t width = objective_.outputs();
  const int64_t row = first == 0 ? 0 : first_row_[static_cast<size_t>(first)];
  // from_blob() accepts no const pointer; nothing writes to a block's own rows.
  float* const values =
      block.teacher.empty() ? values_.data() + row * width : const_cast<float*>(block.teacher.data());
  return at::from_blob(values, {of_nodes_ ? block.nodes() : block.graphs(), width}, at::kFloat);
}

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "loader/batch_fields.h"
#include "loader/batch_list.h"
#include "loader/batch_maker.h"
#include "loader/batch_memory.h"
#include "store/graph_set.h"

namespace plimsoll {

/// Joins graphs of the set, given by their indices, into one disconnected graph by copying their rows in
/// order. Indices in edge_index count the nodes of the whole batch. Errors: InputError for a graph whose
/// pointers are out of range, or, unless edge_index is left out, whose edges are; BudgetExceeded.
CollatedBatch collate(const GraphSetView& set, const BatchFields& fields, std::span<const int64_t> graphs,
                      BatchMemory& memory);

/// Makes the batches of a BatchList.
class CollatedBatches final : public BatchMaker {
 public:
  CollatedBatches(std::shared_ptr<const GraphSetView> set, const BatchFields& fields, BatchList list,
                  std::shared_ptr<BatchMemory> memory)
      : set_(std::move(set)), fields_(fields), list_(std::move(list)), memory_(std::move(memory)) {}

  int64_t size() const override { return list_.size(); }
  CollatedBatch make(int64_t batch) override;
  const char* limits() const override { return "batch_size, max_bytes"; }

 private:
  const std::shared_ptr<const GraphSetView> set_;
  const BatchFields fields_;
  const BatchList list_;
  const std::shared_ptr<BatchMemory> memory_;
};

}  // namespace plimsoll

#pragma once

#include <functional>
#include <span>

#include "nn/batch.h"
#include "sample/block/block.h"
#include "sample/typed/sample_layout.h"

namespace plimsoll {

/// Sets the fields of a batch that describe the nodes of the type SampleLayout::destinations, which must be
/// set: `reached`, a view of the block, which must outlive the batch; `reached_counts` and `reached_orders`.
/// Errors: those of edge_order().
void collate_reached(const GraphBlock& block, const SampleLayout& layout, TypedBatch& batch);

/// Makes the tensors that collate_reached() allocates, for a block whose layout has these counts. `options`
/// are those of an i64 tensor. `fill` writes the edges of a type, reversed, into a tensor of
/// empty_edge_index().
void add_reached(const SampleLayout& layout, std::span<const int64_t> counts,
                 const at::TensorOptions& options,
                 const std::function<void(size_t edge_type, const at::Tensor& index)>& fill,
                 TypedBatch& batch);

}  // namespace plimsoll

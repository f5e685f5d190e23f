#pragma once

#include <functional>
#include <span>

#include "nn/batch.h"
#include "sample/block/block.h"
#include "sample/typed/sample_layout.h"

namespace plimsoll {

/// Makes a batch of samples with node types: Batch::types and the labels. Its tensors of numbers and codes
/// are views of the block, which must outlive the batch. Errors: those of edge_order().
Batch collate_types(const GraphBlock& block, const RowWidths& widths, const CollateOptions& options);

/// Sets the number of nodes of each type within each number of hops, for a block whose layout has these
/// counts.
void count_nodes(const SampleLayout& layout, std::span<const int64_t> counts, TypedBatch& batch);

/// Returns a tensor for the edges of a type, [2, edges + 1]. Its last column is not used: a tensor without
/// numbers would not be allocated, so a block without such edges would have another tape.
at::Tensor empty_edge_index(int64_t edges, const at::TensorOptions& options);

/// Makes the orders of all layers. `edge_index` returns the edges of a type, in a tensor that
/// empty_edge_index() made.
void add_orders(const SampleLayout& layout, std::span<const int64_t> counts,
                const std::function<at::Tensor(size_t edge_type, int64_t edges)>& edge_index,
                TypedBatch& batch);

}  // namespace plimsoll

#pragma once

#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/parameters.h"

namespace plimsoll {

/// What training makes small: a model and its loss, on one block at a time. The loss of a batch is the mean
/// over its items, which are its graphs, or its labelled nodes.
///
/// Thread-safe: blocks are worked on at once, and nothing here may change what a parameter is or keep a
/// tensor of a block.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual const ParameterList& parameters() const = 0;
  /// What collate() shall make of a block.
  virtual CollateOptions collate_options() const = 0;

  /// Adds to a block, as it was read, what forward() and losses() want beside what collate() makes: what a
  /// teacher says of it. Called once, before them.
  virtual void prepare(Batch& /*batch*/) const {}

  /// Numbers that the model says of an item.
  virtual int64_t outputs() const = 0;
  /// f32 [items, outputs()], in the order of graphs and nodes.
  virtual at::Tensor forward(const Batch& batch, const DropoutKey& key) const = 0;
  /// f32 [items], from what forward() gave.
  virtual at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const = 0;
};

}  // namespace plimsoll

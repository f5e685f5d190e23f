#pragma once

#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The function that training minimises: a model and its loss, computed on one block at a time. The loss of a
/// batch is the mean over its items (nn/batch.h).
///
/// Thread-safe, because several threads work on blocks at once. An objective must not replace a parameter's
/// tensor or keep a tensor of a block.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual const ParameterList& parameters() const = 0;
  /// The parts of a Batch that the objective needs.
  virtual CollateOptions collate_options() const = 0;

  /// Adds inputs of forward() and losses() that collate() does not create, such as the teacher's outputs, to
  /// the batch of a block. Called once, before forward() and losses().
  virtual void prepare(Batch& /*batch*/) const {}

  /// Number of outputs of the model for one item.
  virtual int64_t outputs() const = 0;
  /// Returns the outputs, f32 [items, outputs()], in the order of graphs and nodes.
  virtual at::Tensor forward(const Batch& batch, const DropoutKey& key) const = 0;
  /// Returns the losses, f32 [items], computed from the result of forward().
  virtual at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const = 0;
  /// Returns the values, f32 [items], whose mean over items without dropout is the validation loss, by which
  /// the best epoch is chosen. An objective whose task has a metric per item returns that metric, as an
  /// error.
  virtual at::Tensor validation_losses(const at::Tensor& outputs, const Batch& batch) const {
    return losses(outputs, batch);
  }
};

}  // namespace plimsoll

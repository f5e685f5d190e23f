#pragma once

#include <optional>

#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/feature_units.h"
#include "nn/parameters.h"
#include "nn/target_units.h"

namespace plimsoll {

/// The widths of the node and edge features that a model reads. nullopt: the model does not read these
/// features, so any width is valid.
struct FeatureWidths {
  int64_t nodes = 0;
  std::optional<int64_t> edges = {};
};

/// A model that returns logits or values for each graph of a block, or for each node.
class GraphModel {
 public:
  virtual ~GraphModel() = default;
  /// Returns f32 [G, classes()], or [N, classes()] for a model of nodes; for a sample with Batch::layers,
  /// only the rows of its seeds. Thread-safe: it only reads the parameters. Errors: InputError for an ID that
  /// the model's embedding does not have.
  virtual at::Tensor forward(const Batch& batch, const DropoutKey& key) const {
    return apply_head(embed(batch, key));
  }
  /// The two parts of forward(). embed() returns the input of the last layer, f32 [G or N, embedding()], and
  /// apply_head() computes the logits from it.
  virtual at::Tensor embed(const Batch& batch, const DropoutKey& key) const = 0;
  virtual at::Tensor apply_head(const at::Tensor& embeddings) const = 0;
  /// Returns the width of the input of the last layer.
  virtual int64_t embedding() const = 0;
  virtual const ParameterList& parameters() const = 0;
  /// Returns the number of logits or values for an item.
  virtual int64_t classes() const = 0;
  virtual FeatureWidths features() const = 0;
  virtual CollateOptions collate_options() const { return {}; }
  /// Returns the units of the targets; defined only for a model of values.
  virtual TargetUnits target_units() const { return {}; }
  /// Returns the mean and scale of node features; defined only for a model that standardises them.
  virtual FeatureUnits feature_units() const { return {}; }

  bool predicts_nodes() const { return collate_options().items != Items::graphs; }
  bool gives_values() const { return target_units().defined(); }
};

}  // namespace plimsoll

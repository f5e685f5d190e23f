#pragma once

#include <optional>

#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/parameters.h"
#include "nn/target_units.h"

namespace plimsoll {

/// How many numbers a model reads of a node, and of an edge; none: any, it reads them not.
struct FeatureWidths {
  int64_t nodes = 0;
  std::optional<int64_t> edges = {};
};

/// A model that gives each graph of a block, or each node, its logits, or its values.
class GraphModel {
 public:
  virtual ~GraphModel() = default;
  /// f32 [G, classes()], or [N, classes()] where it judges nodes. Thread-safe: it only reads the parameters.
  virtual at::Tensor forward(const Batch& batch, const DropoutKey& key) const {
    return judge(embed(batch, key));
  }
  /// forward() in its parts: what the last layer reads, f32 [G or N, embedding()], and logits from it.
  virtual at::Tensor embed(const Batch& batch, const DropoutKey& key) const = 0;
  virtual at::Tensor judge(const at::Tensor& embeddings) const = 0;
  virtual int64_t embedding() const = 0;
  virtual const ParameterList& parameters() const = 0;
  virtual int64_t classes() const = 0;
  virtual FeatureWidths features() const = 0;
  virtual CollateOptions collate_options() const { return {}; }
  /// Defined where it gives values.
  virtual TargetUnits target_units() const { return {}; }

  bool judges_nodes() const { return collate_options().items != Items::graphs; }
  bool gives_values() const { return target_units().defined(); }
};

}  // namespace plimsoll

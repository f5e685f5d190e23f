#pragma once

#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/parameters.h"

namespace plimsoll {

/// A model that gives each graph of a block, or each node, its logits.
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
  virtual CollateOptions collate_options() const { return {}; }
};

}  // namespace plimsoll

#include "can/tasks/unknown_id_evidence.h"

#include <ATen/ops/zeros.h>

#include "can/profile/unknown_ids.h"

namespace plimsoll {

at::Tensor UnknownIdEvidence::forward(const Batch& batch, const DropoutKey& key) const {
  at::Tensor logits = classifier_.forward(batch, key);
  const Batch& read = batch.read();
  const at::Tensor evidence = at::zeros({batch.graphs()}, read.x.options());
  if (logits.is_meta()) return logits;
  const int64_t features = read.x.size(1);
  const float* const x = read.x.const_data_ptr<float>();
  const int64_t* const ptr = read.graph_ptr.const_data_ptr<int64_t>();
  float* const found = evidence.mutable_data_ptr<float>();
  for (int64_t g = 0; g < batch.graphs(); ++g) {
    const int64_t nodes = ptr[g + 1] - ptr[g];
    int64_t unknown = 0;
    for (int64_t n = ptr[g]; n < ptr[g + 1]; ++n) unknown += x[n * features] == static_cast<float>(unknown_);
    if (is_stranger_among_known(nodes, unknown)) found[g] = kUnknownIdEvidence;
  }
  logits.select(1, 1).add_(evidence.to(logits.device()));
  return logits;
}

}  // namespace plimsoll

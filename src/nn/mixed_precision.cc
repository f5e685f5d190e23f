#include "nn/mixed_precision.h"

#include <optional>

#include "ops/autocast_scope.h"

namespace plimsoll {

at::Tensor MixedPrecision::forward(const Batch& batch, const DropoutKey& key) const {
  std::optional<AutocastScope> scope;
  if (!batch.x.is_meta()) scope.emplace(batch.x.device().type(), products_);
  return objective_.forward(batch, key).to(at::kFloat);
}

}  // namespace plimsoll

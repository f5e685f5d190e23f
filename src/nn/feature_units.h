#pragma once

#include <ATen/TensorOperators.h>

#include <cstdint>

#include "nn/parameters.h"

namespace plimsoll {

/// The mean and scale by which a model standardises node features, so that the features have mean 0 and scale
/// 1 over the training split. Both are f32 [features], stored as buffers features.mean and features.scale;
/// undefined for a model that does not standardise. A scale must not be 0.
struct FeatureUnits {
  at::Tensor mean;
  at::Tensor scale;

  static constexpr const char* kMean = "features.mean";
  static constexpr const char* kScale = "features.scale";

  static FeatureUnits of(ParameterList& parameters, int64_t features) {
    return {parameters.add_buffer(kMean, {features}, 0), parameters.add_buffer(kScale, {features}, 1)};
  }
  bool defined() const { return mean.defined(); }
  /// Returns the standardised features, f32 [N, F]. Each row depends only on the same row of x.
  at::Tensor standardized(const at::Tensor& x) const { return defined() ? (x - mean).div_(scale) : x; }
};

}  // namespace plimsoll

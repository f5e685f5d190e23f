#pragma once

#include <ATen/TensorOperators.h>

#include <cstdint>

#include "nn/parameters.h"

namespace plimsoll {

/// The units in which a model reads the features of nodes, so that they have mean 0 and scale 1 over the
/// training split: f32 [features], stored as buffers features.mean and features.scale. Undefined for a model
/// that reads features as they are.
struct FeatureUnits {
  at::Tensor mean;
  at::Tensor scale;

  static constexpr const char* kMean = "features.mean";
  static constexpr const char* kScale = "features.scale";

  static FeatureUnits of(ParameterList& parameters, int64_t features) {
    return {parameters.add_buffer(kMean, {features}, 0), parameters.add_buffer(kScale, {features}, 1)};
  }
  bool defined() const { return mean.defined(); }
  /// Converts features, f32 [N, F], to these units. Rows do not depend on each other.
  at::Tensor standardized(const at::Tensor& x) const { return defined() ? (x - mean).div_(scale) : x; }
};

}  // namespace plimsoll

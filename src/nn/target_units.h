#pragma once

#include <ATen/ops/addcmul.h>

#include <cstdint>
#include <string>

#include "nn/parameters.h"

namespace plimsoll {

/// The mean and scale by which a model standardises its targets, so that the values it learns have mean 0 and
/// scale 1. Both are f32 [targets], stored as buffers target.mean and target.scale; undefined for a model of
/// classes.
struct TargetUnits {
  at::Tensor mean;
  at::Tensor scale;

  static constexpr const char* kMean = "target.mean";
  static constexpr const char* kScale = "target.scale";

  static TargetUnits of(ParameterList& parameters, int64_t targets) {
    return {parameters.add_buffer(kMean, {targets}, 0), parameters.add_buffer(kScale, {targets}, 1)};
  }
  /// Returns whether a buffer with this name is the mean or the scale.
  static bool is_buffer(const std::string& name) { return name == kMean || name == kScale; }
  bool defined() const { return mean.defined(); }
  /// Converts a model's outputs to the units of the data.
  at::Tensor values(const at::Tensor& outputs) const {
    return defined() ? at::addcmul(mean, outputs, scale) : outputs;
  }
};

}  // namespace plimsoll

#pragma once

#include <ATen/ops/addcmul.h>

#include <cstdint>

#include "nn/parameters.h"

namespace plimsoll {

/// The units in which a model of values learns them, so that they have mean 0 and scale 1: f32 [targets], as
/// buffers target.mean and target.scale. Undefined for a model of classes.
struct TargetUnits {
  at::Tensor mean;
  at::Tensor scale;

  static TargetUnits of(ParameterList& parameters, int64_t targets) {
    return {parameters.add_buffer("target.mean", {targets}, 0),
            parameters.add_buffer("target.scale", {targets}, 1)};
  }
  bool defined() const { return mean.defined(); }
  /// What a model said, in the units of the data.
  at::Tensor values(const at::Tensor& said) const {
    return defined() ? at::addcmul(mean, said, scale) : said;
  }
};

}  // namespace plimsoll

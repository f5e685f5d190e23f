#pragma once

#include <cmath>
#include <numbers>

#include "ops/path_message/path_memory.h"

namespace plimsoll {

/// Sets the slope and offset of each Gaussian of a PathBasis (kernels/path_message/path_message.h):
/// sizes.inputs(2) numbers each. Each kind must have at least 2 Gaussians, or none.
template <typename T>
void fill_path_basis(const PathSizes& sizes, double cutoff, bool periodic, T* slope, T* offset) {
  const auto gaussians = [&](int64_t count, double last) {
    const double width = last / static_cast<double>(count - 1);
    for (int64_t c = 0; c < count; ++c) {
      *slope++ = static_cast<T>(1 / (std::numbers::sqrt2 * width));
      *offset++ = static_cast<T>(static_cast<double>(c) / std::numbers::sqrt2);
    }
  };
  gaussians(sizes.distances, cutoff);
  if (sizes.angles > 0) gaussians(sizes.angles, std::numbers::pi);
  if (sizes.torsions > 0 && !periodic) gaussians(sizes.torsions, 2 * std::numbers::pi);
  if (sizes.torsions > 0 && periodic) {
    const double width = 2 * std::numbers::pi / static_cast<double>(sizes.torsions);
    for (int64_t c = 0; c < sizes.torsions; ++c) {
      const double half = width * static_cast<double>(c) / 2;
      *slope++ = static_cast<T>(std::numbers::sqrt2 * std::cos(half) / width);
      *offset++ = static_cast<T>(std::numbers::sqrt2 * std::sin(half) / width);
    }
  }
}

}  // namespace plimsoll

#pragma once

#include <string>

#include "nn/parameters.h"
#include "ops/path_message/path_message.h"

namespace plimsoll {

/// The numbers of Gaussians for an angle and for a torsion, as in SGMP's code.
inline constexpr int64_t kAngleGaussians = 6;
inline constexpr int64_t kTorsionGaussians = 12;

/// One interaction of SGMP (Zhang and Zhao, NeurIPS 2021): messages along paths of three edges
/// (ops/path_message/path_message.h). After the prefix, parameters are named as in SGMP's code: mlps_dist.{0,
/// 1, 2}.{0, 2}.* and combine.{0, 2, 4}.*.
class PathConv {
 public:
  /// `centers` is the number of Gaussians for a length, 50 in SGMP's code.
  PathConv(ParameterList& parameters, const std::string& prefix, int64_t hidden, int64_t centers,
           bool distances_only);

  /// Maps x f32 [N, hidden] to messages [N, hidden], which the caller adds to x. pos is f32 [N, 3].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& pos, const PathEdges& edges,
                     const PathOptions& options) const {
    return path_message(x, pos, edges, weights_, options);
  }

 private:
  PathWeights weights_;
};

}  // namespace plimsoll

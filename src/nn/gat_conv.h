#pragma once

#include <string>

#include "nn/batch.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Graph attention with PyG's GATConv defaults and parameter names: heads concatenated, LeakyReLU 0.2,
/// softmax over incoming edges, self-loops removed and added again, bias. Velickovic et al., ICLR 2018.
/// Written with torch operations; it stores tensors of edges x heads x channels.
class GATConv {
 public:
  /// Adds "PREFIX.lin.weight" [H*C, in], "PREFIX.att_src" and "PREFIX.att_dst" [1, H, C], "PREFIX.bias"
  /// [H*C].
  GATConv(ParameterList& parameters, const std::string& prefix, int64_t in_channels, int64_t channels,
          int64_t heads);

  /// x f32 [N, in] -> f32 [N, H*C]. Thread-safe.
  at::Tensor forward(const at::Tensor& x, const Batch& batch) const;

 private:
  int64_t heads_;
  int64_t channels_;
  at::Tensor weight_;
  at::Tensor att_src_;
  at::Tensor att_dst_;
  at::Tensor bias_;
};

}  // namespace plimsoll

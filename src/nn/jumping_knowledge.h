#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string>
#include <vector>

#include "config/sections/gat.h"
#include "nn/linear.h"
#include "nn/parameters.h"

namespace plimsoll {

/// PyG's JumpingKnowledge (Xu et al., "Representation Learning on Graphs with Jumping Knowledge Networks",
/// ICML 2018): combines the outputs of a network's layers into one row per node. "cat" concatenates the
/// outputs, "max" takes the maximum of each channel, and "lstm" takes their sum weighted by a softmax over
/// layers. The scores of the softmax are computed by a bidirectional LSTM that reads the layers in order.
class JumpingKnowledge {
 public:
  /// Combines `layers` outputs of `channels` channels each. Mode "lstm" adds the parameters
  /// "PREFIX.lstm.weight_ih_l0" [4 H, channels], "weight_hh_l0" [4 H, H], "bias_ih_l0" and "bias_hh_l0" [4
  /// H], with H = layers * channels / 2 and the gates in the order input, forget, cell, output; the same
  /// names with "_reverse"; and "PREFIX.att.weight" [1, 2 H] and ".bias" [1]. Errors: UsageError for "lstm"
  /// if H would be 0.
  JumpingKnowledge(ParameterList& parameters, const std::string& prefix, JkMode mode, int64_t channels,
                   int64_t layers);

  /// Maps the outputs of each layer, f32 [N, channels], to [N, width()]. Thread-safe.
  at::Tensor forward(const std::vector<at::Tensor>& outputs) const;
  int64_t width() const { return width_; }

 private:
  struct Lstm {
    at::Tensor input_weight, hidden_weight, input_bias, hidden_bias;
  };
  at::Tensor step(const Lstm& lstm, const at::Tensor& x, at::Tensor& hidden, at::Tensor& cell) const;
  at::Tensor attend(const std::vector<at::Tensor>& outputs) const;

  JkMode mode_;
  int64_t width_;
  std::array<Lstm, 2> lstm_;  // The LSTMs that read the layers forward and backward.
  Linear attention_;
};

}  // namespace plimsoll

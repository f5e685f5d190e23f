#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string>
#include <vector>

#include "nn/linear.h"
#include "nn/parameters.h"

namespace plimsoll {

/// PyG's JumpingKnowledge (Xu et al., "Representation Learning on Graphs with Jumping Knowledge Networks",
/// ICML 2018): what the layers of a network gave of each node becomes one row. "cat" puts the outputs side by
/// side, "max" takes the greatest of each channel, "lstm" their sum weighted by a softmax over layers, whose
/// scores a bidirectional LSTM gives that reads the layers in their order.
class JumpingKnowledge {
 public:
  /// `layers` outputs of `channels` each. With "lstm" adds "PREFIX.lstm.weight_ih_l0" [4 H, channels],
  /// "weight_hh_l0" [4 H, H], "bias_ih_l0" and "bias_hh_l0" [4 H], with H = layers * channels / 2 and the
  /// gates input, forget, cell, output; the same with "_reverse"; and "PREFIX.att.weight" [1, 2 H] and
  /// ".bias" [1]. Errors: UsageError for another mode, and for "lstm" where H would be 0.
  JumpingKnowledge(ParameterList& parameters, const std::string& prefix, const std::string& mode,
                   int64_t channels, int64_t layers);

  /// f32 [N, channels] of each layer to [N, width()]. Thread-safe.
  at::Tensor forward(const std::vector<at::Tensor>& outputs) const;
  int64_t width() const { return width_; }

 private:
  struct Lstm {
    at::Tensor input_weight, hidden_weight, input_bias, hidden_bias;
  };
  at::Tensor step(const Lstm& lstm, const at::Tensor& x, at::Tensor& hidden, at::Tensor& cell) const;
  at::Tensor attend(const std::vector<at::Tensor>& outputs) const;

  std::string mode_;
  int64_t width_;
  std::array<Lstm, 2> lstm_;  // reading forward and backward
  Linear attention_;
};

}  // namespace plimsoll

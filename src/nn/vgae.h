#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/sections/vgae.h"
#include "nn/batch_norm.h"
#include "nn/gat_conv.h"
#include "nn/linear.h"

namespace plimsoll {

/// KD-GAT's variational graph autoencoder (after Kipf and Welling, "Variational Graph Auto-Encoders", 2016).
/// It computes a code for each node, and from the code it reconstructs the node's features, its ID and the
/// IDs to which it points.
///
/// The encoder reads an embedding of the ID concatenated with the other features. It is a stack of GATConv,
/// batch normalisation over the block, ReLU and dropout; the decoder mirrors it. Parameters:
/// embedding.weight, encoder.I.*, encoder_norms.I.*, mu.*, logvar.*, decoder.I.*, decoder_norms.I.*,
/// id_head.*, neighbours.{0, 1, 2}.*.
class GraphAutoencoderNeighborhood {
 public:
  /// Errors: UsageError if `hidden` has no width other than a last one that equals the latent width, or if
  /// in_features is below 2; those of ParameterList::add().
  GraphAutoencoderNeighborhood(const VgaeOptions& options, uint64_t seed);

  /// The distribution of each node's code, f32 [N, latent], and the code z, which is drawn from the
  /// distribution in training, and is otherwise its mean. logvar is the logarithm of the variance, within
  /// +-20.
  struct Code {
    at::Tensor mu;
    at::Tensor logvar;
    at::Tensor z;
  };
  Code encode(const Batch& batch, const DropoutKey& key) const;
  /// Returns the reconstructed node features without the ID, f32 [N, in_features - 1].
  at::Tensor decode(const at::Tensor& z, const Batch& batch, const DropoutKey& key) const;
  /// Returns the cross-entropy of each node's own ID, f32 [N]. Errors: InputError for an ID out of range.
  at::Tensor id_losses(const at::Tensor& z, const Batch& batch) const;
  /// Returns, for each node, the binary cross-entropy of the IDs to which it points, as the mean over all
  /// IDs, f32 [N]. Needs CollateOptions::neighbour_ids.
  at::Tensor neighbour_losses(const at::Tensor& z, const Batch& batch, const DropoutKey& key) const;

  const ParameterList& parameters() const { return parameters_; }
  const VgaeOptions& options() const { return options_; }

 private:
  // A convolution and the steps that follow it, in the encoder and the decoder.
  struct Block {
    GATConv conv;
    std::optional<BatchNorm> norm;  // Absent after the decoder's last layer.
    uint32_t place;                 // Distinguishes the uses of dropout.
    std::vector<at::Tensor> parameters;
  };
  Block add_block(const std::string& stack, size_t index, int64_t in, int64_t out, int64_t heads,
                  bool normalised);
  at::Tensor inputs(const Batch& batch) const;
  at::Tensor run(const Block& block, const at::Tensor& x, const Batch& batch, const DropoutKey& key) const;

  VgaeOptions options_;
  ParameterList parameters_;
  at::Tensor embedding_;
  std::vector<Block> encoder_;
  Linear mu_;
  Linear logvar_;
  std::vector<Block> decoder_;
  Linear id_head_;
  std::vector<Linear> neighbours_;
};

}  // namespace plimsoll

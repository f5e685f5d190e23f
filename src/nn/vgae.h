#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/batch_norm.h"
#include "nn/gat_conv.h"
#include "nn/linear.h"
#include "nn/model_options.h"

namespace plimsoll {

/// KD-GAT's variational graph autoencoder (after Kipf and Welling, "Variational Graph Auto-Encoders", 2016):
/// a code for each node, from which its features, its ID and the IDs that it points to are rebuilt.
///
/// The encoder is a stack of GATConv, batch normalisation over the block, ReLU and dropout on the ID's
/// embedding beside the other features; the decoder mirrors it. Parameters: embedding.weight, encoder.I.*,
/// encoder_norms.I.*, mu.*, logvar.*, decoder.I.*, decoder_norms.I.*, id_head.*, neighbours.{0, 1, 2}.*.
class GraphAutoencoderNeighborhood {
 public:
  /// Errors: UsageError for a word it does not know, or no hidden width.
  GraphAutoencoderNeighborhood(const VgaeOptions& options, uint64_t seed);

  /// Of each node the distribution of its code, and the code: drawn from it in training, else its mean.
  /// logvar is the logarithm of the variance, within +-20. f32 [N, latent].
  struct Code {
    at::Tensor mu;
    at::Tensor logvar;
    at::Tensor z;
  };
  Code encode(const Batch& batch, const DropoutKey& key) const;
  /// Node features but the ID: f32 [N, in_features - 1].
  at::Tensor decode(const at::Tensor& z, const Batch& batch, const DropoutKey& key) const;
  /// Cross-entropy of each node's own ID, f32 [N].
  at::Tensor id_losses(const at::Tensor& z, const Batch& batch) const;
  /// Binary cross-entropy of the IDs that each node points to, mean over all IDs, f32 [N]. Wants
  /// CollateOptions::neighbour_ids.
  at::Tensor neighbour_losses(const at::Tensor& z, const Batch& batch, const DropoutKey& key) const;

  const ParameterList& parameters() const { return parameters_; }
  const VgaeOptions& options() const { return options_; }

 private:
  // A convolution and what follows it, in the encoder and the decoder.
  struct Block {
    GATConv conv;
    std::optional<BatchNorm> norm;  // none after the decoder's last
    uint32_t place;                 // tells the uses of dropout apart
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

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

// The options of the models that model files hold (engine/model_file/model_options.h). This header needs no
// torch.

/// The sizes of a GATWithJK. The defaults are the published small preset, 65,354 parameters at 2,049 IDs.
struct GATWithJKOptions {
  int64_t num_ids = 2049;    ///< Rows of the embedding: the vocabulary, and one for unknown IDs.
  int64_t in_features = 11;  ///< Number of node features, of which the first is the ID index.
  int64_t embedding = 8;
  int64_t layers = 2;
  int64_t hidden = 24;  ///< Channels of one head.
  int64_t heads = 4;
  double dropout = 0.1;
  int64_t fc_layers = 2;
  int64_t classes = 2;
  std::string attention = "gat";  ///< gat | gatv2
  int64_t edge_features = 0;      ///< Number of edge features that attention reads; 0 for none.
  std::string jk = "cat";         ///< cat | max | lstm (nn/jumping_knowledge.h)
  std::string pooling = "mean";   ///< mean | sum | max over a graph's nodes
};

/// The sizes of a GraphAutoencoderNeighborhood. The defaults are the published small preset, 85,908
/// parameters at 2,049 IDs.
struct VgaeOptions {
  /// Rows of the embedding and classes of the ID heads: the vocabulary, and one for unknown IDs.
  int64_t num_ids = 2049;
  int64_t in_features = 11;  ///< Number of node features, of which the first is the ID index.
  int64_t embedding = 4;
  std::vector<int64_t> hidden = {80,
                                 40};  ///< Widths of the encoder; a last one equal to `latent` is dropped.
  int64_t latent = 16;
  /// Heads of the encoder's first layer, if they divide its width; the other layers have one.
  int64_t heads = 1;
  /// Heads of the decoder's first layer, if they divide its width and it is not the last.
  int64_t decoder_heads = 4;
  double dropout = 0.1;
  std::string output = "sigmoid";  ///< sigmoid for features in [0, 1] | tanh for features in [-1, 1].
  int64_t edge_features = 0;       ///< Number of edge features that attention reads; 0 for none.
};

struct GnnOptions {
  std::string conv = "gin";  ///< gat | gatv2 | gcn | gin | sage
  int64_t in_features = 0;
  int64_t edge_features = 0;  ///< Number of edge features, which gat and gatv2 read.
  /// The first feature of an edge is its weight; the other convolutions multiply by it.
  bool edge_weight = false;
  int64_t num_ids = 0;  ///< If above 0, the first feature is an index below it, which is embedded.
  int64_t embedding = 8;
  int64_t layers = 3;
  int64_t hidden = 64;  ///< Channels of a layer; for gat and gatv2, of all heads together.
  int64_t heads = 1;
  std::string norm = "none";  ///< none | batch (over a block) | graph (GraphNorm)
  std::string jk = "last";    ///< last | cat | max: the layers whose outputs are used (Xu et al., ICML 2018).
  std::string pooling = "mean";  ///< mean | sum | max over a graph's nodes
  double dropout = 0;
  int64_t classes = 2;     ///< Number of classes, or of values.
  bool node_head = false;  ///< Evaluate nodes, not graphs.
  bool values = false;     ///< Return values, not logits of classes.
};

struct SgmpOptions {
  int64_t in_features = 0;
  int64_t hidden = 64;
  int64_t layers = 3;
  std::string mode = "corrected";  ///< corrected | reference (PathMode).
  double cutoff = 10;              ///< Largest distance that Gaussians cover.
  int64_t tile = 256;              ///< Paths that are in memory at once.
  std::string direction = "both";  ///< both | ancestor | descendant (PathDirection).
  bool distances_only = false;     ///< Use no angles and torsions.
  std::string aggregate = "sum";   ///< sum | mean of the messages at a node.
  int64_t spanning_trees = 0;   ///< 0: use all paths. N: use paths of random spanning trees, one in training
                                ///< and the mean over N in evaluation.
  std::string readout = "sum";  ///< sum | mean of a graph's nodes.
  std::string norm = "none";    ///< none | batch (BatchNorm) of the nodes after each interaction.
  bool gtmp = false;            ///< GTMP: pool the outputs of nodes, not their embeddings.
  int64_t classes = 2;          ///< Number of classes, or of values.
  bool node_head = false;       ///< Evaluate nodes, not graphs.
  bool values = false;          ///< Return values, not logits of classes.
};

}  // namespace plimsoll

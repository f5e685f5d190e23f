#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

// The options of the models that files hold (engine/model_file/model_options.h), without torch.

/// The sizes of a GATWithJK. The defaults are the published small preset, 65,354 parameters at 2,049 IDs.
struct GATWithJKOptions {
  int64_t num_ids = 2049;    ///< rows of the embedding: the vocabulary and one for unknown IDs
  int64_t in_features = 11;  ///< node features, of which the first is the ID index
  int64_t embedding = 8;
  int64_t layers = 2;
  int64_t hidden = 24;  ///< channels a head
  int64_t heads = 4;
  double dropout = 0.1;
  int64_t fc_layers = 2;
  int64_t classes = 2;
  std::string attention = "gat";  ///< gat | gatv2
  int64_t edge_features = 0;      ///< K of edge_attr, which attention then uses; 0: not used
  std::string jk = "cat";         ///< cat | max | lstm (nn/jumping_knowledge.h)
  std::string pooling = "mean";   ///< mean | sum | max over a graph's nodes
};

/// The sizes of a GraphAutoencoderNeighborhood. The defaults are the published small preset, 85,908
/// parameters at 2,049 IDs.
struct VgaeOptions {
  int64_t num_ids = 2049;  ///< rows of the embedding and classes of the ID heads: the vocabulary and one more
  int64_t in_features = 11;  ///< node features, of which the first is the ID index
  int64_t embedding = 4;
  std::vector<int64_t> hidden = {80, 40};  ///< widths of the encoder; a last one equal to `latent` is dropped
  int64_t latent = 16;
  int64_t heads = 1;  ///< of the encoder's first layer, where they divide its width; the others have one
  int64_t decoder_heads = 4;  ///< of the decoder's first layer, likewise, unless it is the last
  double dropout = 0.1;
  std::string output = "sigmoid";  ///< sigmoid: features in [0, 1] | tanh: features in [-1, 1]
  int64_t edge_features = 0;       ///< K of edge_attr, which attention then uses; 0: not used
};

struct GnnOptions {
  std::string conv = "gin";  ///< gat | gatv2 | gcn | gin | sage
  int64_t in_features = 0;
  int64_t edge_features = 0;  ///< gat and gatv2 use them
  bool edge_weight = false;   ///< edges have a weight, their first feature; the others multiply by it
  int64_t num_ids = 0;        ///< over 0: the first feature is an index below it, which is embedded
  int64_t embedding = 8;
  int64_t layers = 3;
  int64_t hidden = 64;  ///< channels a layer; gat and gatv2: of all heads together
  int64_t heads = 1;
  std::string norm = "none";     ///< none | batch (over a block) | graph (GraphNorm)
  std::string jk = "last";       ///< last | cat | max: which layers' outputs are used (Xu et al., ICML 2018)
  std::string pooling = "mean";  ///< mean | sum | max over a graph's nodes
  double dropout = 0;
  int64_t classes = 2;     ///< or values
  bool node_head = false;  ///< judges nodes, not graphs
  bool values = false;     ///< gives values, not logits of classes
};

struct SgmpOptions {
  int64_t in_features = 0;
  int64_t hidden = 64;
  int64_t layers = 3;
  std::string mode = "corrected";  ///< or reference (PathMode)
  double cutoff = 10;              ///< of distances
  int64_t tile = 256;              ///< paths that are there at once
  std::string direction = "both";  ///< or ancestor, descendant (PathDirection)
  bool distances_only = false;     ///< no angles and torsions
  std::string aggregate = "sum";   ///< of the messages at a node; or mean
  int64_t spanning_trees = 0;      ///< paths of random spanning trees: one in training, the mean of so many
                                   ///< in evaluation; 0: all paths
  std::string readout = "sum";     ///< of a graph's nodes; or mean
  std::string norm = "none";       ///< of what nodes have after each interaction; or batch (BatchNorm)
  bool gtmp = false;               ///< GTMP: what is said of nodes is pooled, not their embeddings
  int64_t classes = 2;             ///< or values
  bool node_head = false;          ///< judges nodes, not graphs
  bool values = false;             ///< gives values, not logits of classes
};

}  // namespace plimsoll

#pragma once

#include <string>
#include <variant>

#include "can/detector/packed_linear.h"
#include "config/sections/gat.h"
#include "kernels/gat/gat.h"
#include "kernels/gatv2/gatv2.h"

namespace plimsoll {

/// The edges of one graph as attention reads them.
struct OrderedEdges {
  EdgeOrder order;
  int64_t given = 0;                 ///< E, the number of edges in the graph.
  const float* edge_attr = nullptr;  ///< [E, K]
};

struct GatLayerOptions {
  int64_t in = 0;
  int64_t heads = 0;
  int64_t channels = 0;       ///< Channels per head.
  int64_t edge_features = 0;  ///< K; 0: edge features are not used.
};

/// The forward pass of a layer of graph attention with its weights, followed by ReLU. Computes what GATConv
/// or GATv2Conv in src/nn computes with default options (self-loops added, filled with the mean; heads
/// concatenated). Keeps its scratch memory from graph to graph. Not thread-safe.
class GatLayer {
 public:
  /// Errors: InputError that names the file and what is missing or misshapen; BudgetExceeded.
  GatLayer(const SafetensorsView& file, const std::string& prefix, AttentionKind attention,
           const GatLayerOptions& options);

  /// Maps x [N, in] to out [N, heads * channels]. alpha [E + N, heads] receives the attention of each edge,
  /// in the graph's order, and of each node's self-loop. The order must not contain self-loops. Errors:
  /// BudgetExceeded.
  void forward(const float* x, const OrderedEdges& edges, float* alpha, float* out);
  int64_t width() const { return options_.heads * options_.channels; }

 private:
  struct Static {                                           // GAT
    Vector<float, Tag::parameters> att_source, att_target;  // [H, D]
    Vector<float, Tag::parameters> q;                       // [K, H]
  };
  struct Dynamic {  // GATv2
    PackedLinear target;
    Vector<float, Tag::parameters> att;          // [H, D]
    Vector<float, Tag::parameters> edge_weight;  // [K, H*D]
  };
  static Static read_static(const SafetensorsView& file, const std::string& prefix,
                            const GatLayerOptions& options);
  static Dynamic read_dynamic(const SafetensorsView& file, const std::string& prefix,
                              const GatLayerOptions& options);
  void attend(const Static& weights, const float* x, Attention<float>& shared, int64_t nodes);
  void attend(const Dynamic& weights, const float* x, Attention<float>& shared, int64_t nodes);

  GatLayerOptions options_;
  PackedLinear projection_;
  Vector<float, Tag::parameters> bias_;
  std::variant<Static, Dynamic> attention_;
  Vector<float, Tag::blocks> z_, z_target_, scores_, scratch_;
};

}  // namespace plimsoll

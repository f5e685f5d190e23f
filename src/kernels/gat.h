#pragma once

#include <cstdint>

#include "base/philox.h"
#include "kernels/edge_order.h"
#include "kernels/level.h"

namespace plimsoll {

/// What a self-loop that attention adds has as edge features.
enum class LoopFill : uint8_t { zero, mean, value };

/// Dropout of attention weights: which are dropped depends on (seed, layer, epoch, item of the target's
/// graph, number of the edge, head) alone, so no mask is stored. Edges count from the first of their graph,
/// added self-loops are numbered by local node in a stream of their own.
struct AttentionDropout {
  double p = 0;  ///< in [0, 1); 0 switches it off
  uint64_t seed = 0;
  uint32_t layer = 0;
  uint32_t epoch = 0;
  const int64_t* item = nullptr;        ///< [targets] index of the node's graph in its data set; null: 0
  const int64_t* local = nullptr;       ///< [targets] number of the node in its graph; null: its index
  const int64_t* first_edge = nullptr;  ///< [targets] the caller's first edge of the node's graph; null: 0
};

/// A layer of graph attention behind its projection z = x W (Velickovic et al., ICLR 2018; PyG's GATConv):
///
///     l_e = <z_j, att_source> + <z_i, att_target> + <f_e, q>   for an edge e from j to i, per head
///     alpha_e = softmax over the edges into i of LeakyReLU(l_e);   out_i = sum_e mask_e alpha_e z_j + bias
///
/// S sources, T targets, E edges of the caller, H heads of D channels, K edge features; all arrays C order.
/// With `loops` every target gets one more edge from the source of its number, behind its others.
template <typename T>
struct Gat {
  EdgeOrder order;
  int64_t caller_edges = 0;  ///< E
  int64_t heads = 1;
  int64_t channels = 1;
  int64_t edge_features = 0;
  T slope = T(0.2);
  bool loops = false;
  LoopFill fill = LoopFill::zero;
  T fill_value = 0;
  AttentionDropout dropout;

  const T* z = nullptr;          ///< [S, H*D]
  const T* edge_attr = nullptr;  ///< [E, K]; null where K = 0
  const T* q = nullptr;  ///< [K, H]; what W_e and att_edge come to: q[k,h] = sum_d W_e[h*D+d,k] att_edge[h,d]
  const T* s = nullptr;  ///< [S, H] <z_j, att_source>
  const T* t = nullptr;  ///< [T, H] <z_i, att_target>
  T* highest = nullptr;  ///< [T, H] largest score of each target, written forward and read backward
  T* scale = nullptr;    ///< [T, H] 1 / sum of exp(score - highest); 0 without edges

  const T* bias = nullptr;  ///< [H*D], or null
  T* out = nullptr;         ///< [T, H*D]
  T* alpha = nullptr;       ///< [E (+ T), H] mask_e alpha_e, self-loops last; null if not asked for
};

/// Backward. Gradients are of the arrays of Gat with the same name.
template <typename T>
struct GatGradients {
  const T* out = nullptr;    ///< [T, H*D] given
  const T* alpha = nullptr;  ///< [E (+ T), H] given, or null
  T* z = nullptr;            ///< [S, H*D] what goes through the sum; added to, where pieces are closed
  T* s = nullptr;            ///< [S, H] likewise
  T* t = nullptr;            ///< [T, H] written
  T* q = nullptr;            ///< [K, H] added to
  T* bias = nullptr;         ///< [H*D] added to, or null
  T* edge_attr = nullptr;    ///< [E, K] written for edges of the order, or null
  /// Where pieces are not closed: [positions (+ T), 2H] mask_e alpha_e and the gradient of l_e, for gather().
  /// Else null.
  T* handoff = nullptr;
};

/// The kernels of one level. Each works on a range of nodes and touches nothing else, so ranges may be worked
/// on at the same time, if (backward) they are whole closed pieces or there is a handoff. `scratch` has
/// scratch_size numbers.
template <typename T>
struct GatKernels {
  /// out[i,h] = <z[i,h], att[h]> for the nodes begin .. end-1; z [N, H*D], att [H, D], out [N, H].
  void (*scores)(const T* z, const T* att, int64_t heads, int64_t channels, int64_t begin, int64_t end,
                 T* out);
  void (*forward)(const Gat<T>& layer, int64_t begin, int64_t end, T* scratch);
  void (*backward)(const Gat<T>& layer, const GatGradients<T>& gradients, int64_t begin, int64_t end,
                   T* scratch);
  /// z and s gradients of sources begin .. end-1 from the handoff; overwrites. out_ptr and the others as
  /// transpose_edge_order() makes them.
  void (*gather)(const Gat<T>& layer, const GatGradients<T>& gradients, const int32_t* out_ptr,
                 const int32_t* position, const int32_t* target, int64_t begin, int64_t end);
  /// The gradient of scores(): dz[i] += dout[i,h] att[h], datt[h] += sum_i dout[i,h] z[i,h].
  void (*scores_backward)(const T* z, const T* att, const T* dout, int64_t heads, int64_t channels,
                          int64_t begin, int64_t end, T* dz, T* datt);
};

template <typename T>
const GatKernels<T>& gat_kernels(Level level);

/// Numbers of scratch that one range needs.
int64_t gat_scratch_size(const EdgeOrder& order, int64_t heads);

}  // namespace plimsoll

#pragma once

#include "kernels/attention.h"

namespace plimsoll {

/// Graph attention after its projection z = x W (Velickovic et al., ICLR 2018; PyG's GATConv), per head:
///
///     score_e = LeakyReLU(l_e),   l_e = <z_j, att_source> + <z_i, att_target> + <f_e, q>   for e from j to i
template <typename T, typename Stored = T>
struct Gat : Attention<T, Stored> {
  const T* q = nullptr;  ///< [K, H]; what W_e and att_edge come to: q[k,h] = sum_d W_e[h*D+d,k] att_edge[h,d]
  const T* s = nullptr;  ///< [S, H] <z_j, att_source>
  const T* t = nullptr;  ///< [T, H] <z_i, att_target>
};

template <typename T, typename Stored = T>
struct GatGradients : AttentionGradients<T, Stored> {
  T* s = nullptr;  ///< [S, H] added to
  T* t = nullptr;  ///< [T, H] written
  T* q = nullptr;  ///< [K, H] added to
};

/// Two arrays, one for scores as a source and one as a target; null where there are no such.
template <typename T>
struct ScorePair {
  T* source = nullptr;
  T* target = nullptr;
};

/// The kernels of one level. Each works on a range of nodes and touches nothing else, so ranges may be worked
/// on at the same time, if (backward) they are whole closed pieces or there is a handoff and each range has
/// its own q and bias. `scratch` has gat_scratch_size() numbers.
template <typename T, typename Stored = T>
struct GatKernels {
  /// s and t, `to`, of the nodes begin .. end-1 from z [N, H*D] and both att [H, D]: s[i,h] = <z[i,h],
  /// att_source[h]>. Without att_target t is not written.
  void (*scores)(const Stored* z, const ScorePair<const T>& att, int64_t heads, int64_t channels,
                 int64_t begin, int64_t end, const ScorePair<T>& to);
  void (*forward)(const Gat<T, Stored>& layer, int64_t begin, int64_t end, T* scratch);
  void (*backward)(const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, int64_t begin,
                   int64_t end, T* scratch);
  /// z and s gradients of sources begin .. end-1 from the handoff; overwrites.
  void (*gather)(const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, const OutEdges& edges,
                 int64_t begin, int64_t end);
  /// The gradient of scores(), from that of s and t, `given`: dz[i] += ds[i,h] att_source[h] and likewise of
  /// t, datt_source[h] += sum_i ds[i,h] z[i,h].
  void (*scores_backward)(const Stored* z, const ScorePair<const T>& att, const ScorePair<const T>& given,
                          int64_t heads, int64_t channels, int64_t begin, int64_t end, T* dz,
                          const ScorePair<T>& datt);
};

/// f32, f64, and f32 with bfloat16 stored.
template <typename T, typename Stored = T>
const GatKernels<T, Stored>& gat_kernels(Level level);

/// Numbers of scratch that one range needs.
int64_t gat_scratch_size(const EdgeOrder& order, int64_t heads);

}  // namespace plimsoll

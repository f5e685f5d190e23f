#pragma once

#include "kernels/attention/attention.h"

namespace plimsoll {

/// Graph attention after its projection z = x W (Velickovic et al., ICLR 2018; PyG's GATConv), per head:
///
///     score_e = LeakyReLU(l_e),   l_e = <z_j, att_source> + <z_i, att_target> + <f_e, q>   for e from j to i
template <typename T, typename Stored = T>
struct Gat : Attention<T, Stored> {
  /// [K, H], the product of W_e and att_edge: q[k,h] = sum_d W_e[h*D+d,k] att_edge[h,d].
  const T* q = nullptr;
  const T* s = nullptr;  ///< [S, H], <z_j, att_source>.
  const T* t = nullptr;  ///< [T, H], <z_i, att_target>.
};

/// GatKernels::gather() overwrites z as well; with a handoff, backward() leaves z and s to it.
template <typename T, typename Stored = T>
struct GatGradients : AttentionGradients<T, Stored> {
  T* s = nullptr;  ///< [S, H], added to by backward(), overwritten by gather().
  T* t = nullptr;  ///< [T, H], written.
  T* q = nullptr;  ///< [K, H], added to.
};

/// Two arrays: one for the scores of sources and one for the scores of targets. Either may be null.
template <typename T>
struct ScorePair {
  T* source = nullptr;
  T* target = nullptr;
};

/// The kernels of one level. Each computes a range of nodes and touches nothing else. Ranges may be computed
/// at the same time. For backward, this requires that the ranges consist of whole closed pieces, or that
/// there is a handoff and each range has separate gradients of q and bias. `scratch` has gat_scratch_size()
/// numbers.
template <typename T, typename Stored = T>
struct GatKernels {
  /// Computes s and t for the nodes begin .. end-1, from z [N, H*D] and both att [H, D], and writes them to
  /// `to`: s[i,h] = <z[i,h], att_source[h]>. If att_target is null, t is not written.
  void (*scores)(const Stored* z, const ScorePair<const T>& att, int64_t heads, int64_t channels,
                 int64_t begin, int64_t end, const ScorePair<T>& to);
  /// Writes highest, scale, out and alpha of the targets begin .. end-1.
  void (*forward)(const Gat<T, Stored>& layer, int64_t begin, int64_t end, T* scratch);
  /// Computes the gradients of the edges into the targets begin .. end-1. With a handoff, writes their part
  /// of the handoff instead of adding to z and s.
  void (*backward)(const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, int64_t begin,
                   int64_t end, T* scratch);
  /// Overwrites the gradients of z and s of the sources begin .. end-1 with those of the handoff.
  void (*gather)(const Gat<T, Stored>& layer, const GatGradients<T, Stored>& gradients, const OutEdges& edges,
                 int64_t begin, int64_t end);
  /// Runs scores() backward. `given` has the gradients of s and t. dz[i] += ds[i,h] att_source[h],
  /// datt_source[h] += sum_i ds[i,h] z[i,h], and the same for t.
  void (*scores_backward)(const Stored* z, const ScorePair<const T>& att, const ScorePair<const T>& given,
                          int64_t heads, int64_t channels, int64_t begin, int64_t end, T* dz,
                          const ScorePair<T>& datt);
};

/// Returns the kernels for f32, f64, or f32 with arrays stored as bfloat16.
template <typename T, typename Stored = T>
const GatKernels<T, Stored>& gat_kernels(Level level);

/// Returns the size of `scratch` that one range needs, in numbers.
int64_t gat_scratch_size(const EdgeOrder& order, int64_t heads);

}  // namespace plimsoll

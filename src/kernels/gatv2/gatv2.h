#pragma once

#include "kernels/attention/attention.h"

namespace plimsoll {

/// Dynamic graph attention after its projections z = x W_source, z_target = x W_target (Brody et al., ICLR
/// 2022; PyG's GATv2Conv), per head:
///
///     score_e = <att, LeakyReLU(y_e)>,   y_e = z_j + z_target_i + f_e edge_weight   for e from j to i
template <typename T, typename Stored = T>
struct Gatv2 : Attention<T, Stored> {
  const Stored* z_target = nullptr;  ///< [T, H*D]; z itself if weights are shared.
  const T* edge_weight = nullptr;    ///< [K, H*D]; null if K = 0.
  const T* att = nullptr;            ///< [H, D].
};

template <typename T, typename Stored = T>
struct Gatv2Gradients : AttentionGradients<T, Stored> {
  T* z_target = nullptr;     ///< [T, H*D], added to; the gradient of z if weights are shared.
  T* edge_weight = nullptr;  ///< [K, H*D], added to.
  T* att = nullptr;          ///< [H, D], added to.
};

/// The kernels of one level; gat.h has the rules for ranges. `scratch` has gatv2_scratch_size() numbers.
template <typename T, typename Stored = T>
struct Gatv2Kernels {
  /// Writes highest, scale, out and alpha of the targets begin .. end-1.
  void (*forward)(const Gatv2<T, Stored>& layer, int64_t begin, int64_t end, T* scratch);
  /// Computes the gradients of the edges into the targets begin .. end-1. With a handoff, writes their part
  /// of the handoff instead of adding to z.
  void (*backward)(const Gatv2<T, Stored>& layer, const Gatv2Gradients<T, Stored>& gradients, int64_t begin,
                   int64_t end, T* scratch);
  /// Adds the handoff's part to the gradients of z for the sources begin .. end-1.
  void (*gather)(const Gatv2<T, Stored>& layer, const Gatv2Gradients<T, Stored>& gradients,
                 const OutEdges& edges, int64_t begin, int64_t end, T* scratch);
};

/// Returns the kernels for f32, f64, or f32 with arrays stored as bfloat16.
template <typename T, typename Stored = T>
const Gatv2Kernels<T, Stored>& gatv2_kernels(Level level);

/// Number of rows y_e that a range keeps at once. If a target has more edges, backward computes their rows
/// twice.
inline constexpr int64_t kGatv2Rows = 16;

/// Maximum number of edges whose rows are computed at once.
inline constexpr int64_t kMaxBlock = 4;

/// Returns the size of `scratch` that one range needs, in numbers.
int64_t gatv2_scratch_size(const EdgeOrder& order, int64_t heads, int64_t channels, int64_t edge_features);

}  // namespace plimsoll

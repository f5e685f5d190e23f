#pragma once

#include <array>

#include "kernels/path_message/path_geometry.h"
#include "kernels/path_message/path_message.h"
#include "kernels/product/product.h"
#include "ops/path_message/path_memory.h"

namespace plimsoll {

/// One call of path_message on plain memory. It has the layer's weights, folded and packed, and the tile that
/// is being computed. Not thread-safe; different objects may be used at the same time.
///
/// C1 is split into [Ai Aj Ak Ap B1 B2 B3]. Each MLP of Gaussians G has a first matrix M' and a second matrix
/// M. M is folded into the MLP's part B of C1, Q = B M, so that the inner sum before the first ReLU is
///
///     z = (Ai x_i + c0) + Aj x_j + Q1 r1(i, j) + Ak x_k + Q2 r2(i, j, k) + Ap x_p + Q3 r3(i, j, k, p)
///
/// with r = relu(M' G + m'). Terms of nodes are computed once per node, those of edges once per edge of the
/// tile, those of triples once per triple, and only Q3 r3 once per path. C3 is applied to sums of paths.
template <typename T>
class PathLayer {
 public:
  using Weights = std::array<const T*, 18>;  // In the order of PathWeights.
  using Gradients = std::array<T*, 18>;

  /// `memory` has path_workspace() bytes, aligned to 64 bytes. All memory must outlive this object.
  /// `backward` must be true if backward() is called.
  PathLayer(const PathSizes& sizes, const PathGraph& graph, const T* x, const T* pos, const Weights& weights,
            double cutoff, bool periodic, bool backward, void* memory);

  /// Writes the sums of messages, [N, H].
  void forward(T* out);
  /// Adds the gradient with respect to x to dx [N, H], and writes those with respect to weights to
  /// `gradients`, which must be zero. They are computed from the gradients of the sums, `grad` [N, H].
  void backward(const T* grad, T* dx, const Gradients& gradients);

  /// Returns the size of `memory` in bytes.
  static int64_t bytes(const PathSizes& sizes, bool backward);

 private:
  struct Memory {
    // Packed weights: A [16H, H] of the nodes, M' and Q of the MLPs, C2 and C3; for backward, their
    // transposes.
    T *nodes, *first[3], *second[3], *c2, *c3;
    T *nodes_back, *second_back[3], *c2_back, *c3_back;
    T* node_bias;  // [16H]: c0, then zeros.
    T *slope, *offset;
    T* folded;  // [16H, H], used while weights are packed.
    // Arrays by slot.
    T *x, *pos, *table, *table_gradient, *dx;
    // Arrays of the tile: Gaussians, hidden layers of the MLPs, inner sums, values after C2.
    T *gaussians[3], *r[3], *z[3], *s, *dz, *dr;
    PathGeometry<T> geometry;
    PathTile tile;
    NodeSlots slots;
    int32_t *shared_row, *last_edge, *row_of;  // By path; by slot and side.
    // Arrays by source.
    T *sums, *source_gradients;
    int64_t* counts;
    // Sums of gradients, and the buffer of products.
    T *dnodes, *dq[3], *dfirst[3], *buffer;

    void take_layer(PathPieces& pieces, const PathSizes& sizes);
    void take_geometry(PathPieces& pieces, const PathSizes& sizes);
    void take_tile(PathPieces& pieces, const PathSizes& sizes, bool backward);
    void take_backward(PathPieces& pieces, const PathSizes& sizes);
  };
  static int64_t lay_out(const PathSizes& sizes, bool backward, void* memory, Memory& to);

  void fold(double cutoff, bool periodic);
  template <typename Work>
  void over_tiles(int64_t first, int64_t count, const Work& work);
  void compute_nodes();
  void share();
  void compute();
  void sum_up();
  void backward_tile(const Gradients& gradients);
  void backward_mlp(int mlp, const T* dz, int64_t rows, const Gradients& gradients);
  void release_slots();
  void unfold(const Gradients& gradients);

  PathSizes sizes_;
  PathGraph graph_;
  PathWalk walk_;
  const T* x_;
  const T* pos_;
  Weights w_;
  bool periodic_;
  bool backward_;
  const PathKernels<T>& kernels_;
  const ProductKernels<T>& products_;
  Memory m_;
  T* dx_ = nullptr;
  int64_t ready_ = 0;  // Number of slots whose products are computed.
  int64_t rows_ = 0;   // Rows of r3: the number of paths, or fewer if they share rows.
};

}  // namespace plimsoll

#include "ops/path_message/path_layer.h"

#include <algorithm>

#include "ops/path_message/path_basis.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxPanel = 32;  // Maximum number of outputs in a panel of a packed matrix, at any level.

int64_t packed_size(int64_t in, int64_t out) {
  return (out + kMaxPanel - 1) / kMaxPanel * kMaxPanel * in;
}

}  // namespace

int64_t path_workspace(const PathSizes& sizes, bool backward, size_t number_bytes) {
  return number_bytes == sizeof(float) ? PathLayer<float>::bytes(sizes, backward)
                                       : PathLayer<double>::bytes(sizes, backward);
}

template <typename T>
int64_t PathLayer<T>::bytes(const PathSizes& sizes, bool backward) {
  Memory counted;
  return lay_out(sizes, backward, nullptr, counted);
}

// Allocates the packed weights, and the numbers that are derived from them for a tile and its slots.
template <typename T>
void PathLayer<T>::Memory::take_layer(PathPieces& pieces, const PathSizes& sizes) {
  const int64_t h = sizes.hidden;
  pieces.take(nodes, packed_size(h, 16 * h));
  pieces.take(c2, packed_size(4 * h, 2 * h));
  pieces.take(c3, packed_size(2 * h, h));
  pieces.take(node_bias, 16 * h);
  pieces.take(slope, sizes.inputs(2));
  pieces.take(offset, sizes.inputs(2));
  pieces.take(folded, 16 * h * h);
  for (int mlp = 0; mlp < 3; ++mlp) {
    pieces.take(first[mlp], packed_size(sizes.inputs(mlp), h));
    pieces.take(second[mlp], packed_size(h, 4 * h));
    pieces.take(gaussians[mlp], sizes.inputs(mlp) * sizes.step());
    pieces.take(r[mlp], sizes.tile * h);
    pieces.take(z[mlp], sizes.tile * 4 * h);
  }
  pieces.take(s, sizes.tile * 2 * h);
  pieces.take(x, sizes.slots() * h);
  pieces.take(pos, sizes.slots() * 3);
  pieces.take(table, sizes.slots() * 16 * h);
}

// Allocates the lengths of a tile's paths, and their angles and torsions if the layer uses them.
template <typename T>
void PathLayer<T>::Memory::take_geometry(PathPieces& pieces, const PathSizes& sizes) {
  const auto take = [&](auto*& piece, int64_t numbers, bool needed) {
    if (needed)
      pieces.take(piece, numbers);
    else
      piece = nullptr;
  };
  const bool angles = sizes.angles > 0;
  take(geometry.edge_distance, sizes.tile, true);
  take(geometry.edge_a, 3 * sizes.tile, true);
  take(geometry.triple_distance, sizes.tile, true);
  take(geometry.triple_angle, sizes.tile, angles);
  take(geometry.triple_v, 3 * sizes.tile, angles);
  take(geometry.path_distance, sizes.tile, true);
  take(geometry.path_angle, sizes.tile, angles);
  take(geometry.path_torsion, sizes.tile, angles);
  take(geometry.path_cosine, sizes.tile, angles);
}

// Allocates the paths of a tile, the table of slots and the sums of sources.
template <typename T>
void PathLayer<T>::Memory::take_tile(PathPieces& pieces, const PathSizes& sizes, bool backward) {
  const int64_t h = sizes.hidden;
  tile.capacity = sizes.tile;
  for (int32_t** array : {&tile.edge_source, &tile.edge_target, &tile.triple_edge, &tile.triple_node,
                          &tile.path_triple, &tile.path_node, &tile.path_source})
    pieces.take(*array, sizes.tile);
  slots.capacity = sizes.slots();
  pieces.take(slots.node, sizes.slots());
  pieces.take(sums, sizes.window() * 2 * h);
  pieces.take(counts, sizes.window());
  if (sizes.shared) {
    pieces.take(shared_row, sizes.tile);
    pieces.take(last_edge, 2 * sizes.slots());
    pieces.take(row_of, 2 * sizes.slots());
  }
  if (sizes.shared || backward) pieces.take(dz, sizes.tile * 4 * h);
}

// Allocates transposed weights and gradients.
template <typename T>
void PathLayer<T>::Memory::take_backward(PathPieces& pieces, const PathSizes& sizes) {
  const int64_t h = sizes.hidden;
  pieces.take(nodes_back, packed_size(16 * h, h));
  pieces.take(c2_back, packed_size(2 * h, 4 * h));
  pieces.take(c3_back, packed_size(h, 2 * h));
  for (int mlp = 0; mlp < 3; ++mlp) {
    pieces.take(second_back[mlp], packed_size(4 * h, h));
    pieces.take(dq[mlp], 4 * h * h);
    pieces.take(dfirst[mlp], sizes.inputs(mlp) * h);
  }
  pieces.take(dnodes, 16 * h * h);
  pieces.take(dr, sizes.tile * h);
  pieces.take(table_gradient, sizes.slots() * 16 * h);
  pieces.take(dx, sizes.slots() * h);
  pieces.take(source_gradients, sizes.window() * 2 * h);
  pieces.take(buffer, std::max({sizes.window(), sizes.slots(), 4 * h}) * kMaxPanel);
}

template <typename T>
int64_t PathLayer<T>::lay_out(const PathSizes& sizes, bool backward, void* memory, Memory& m) {
  PathPieces pieces(memory);
  m.take_layer(pieces, sizes);
  m.take_geometry(pieces, sizes);
  m.take_tile(pieces, sizes, backward);
  if (backward) m.take_backward(pieces, sizes);
  // The array whose size depends on the number of nodes is last and not rounded, because plans need sizes
  // that are affine in the number of nodes.
  pieces.take(m.slots.slot_of, sizes.nodes);
  return pieces.bytes();
}

template <typename T>
PathLayer<T>::PathLayer(const PathSizes& sizes, const PathGraph& graph, const T* x, const T* pos,
                        const Weights& weights, double cutoff, bool periodic, bool backward, void* memory)
    : sizes_(sizes),
      graph_(graph),
      walk_(graph),
      x_(x),
      pos_(pos),
      w_(weights),
      periodic_(periodic),
      backward_(backward),
      kernels_(path_kernels<T>(kernel_level())),
      products_(product_kernels<T>(kernel_level())) {
  lay_out(sizes, backward, memory, m_);
  std::fill_n(m_.slots.slot_of, sizes.nodes, -1);
  fold(cutoff, periodic);
}

template <typename T>
void PathLayer<T>::fold(double cutoff, bool periodic) {
  const int64_t h = sizes_.hidden;
  const T* const c1 = w_[kC1];
  for (int64_t role = 0; role < 4; ++role)
    for (int64_t r = 0; r < 4 * h; ++r)
      std::copy_n(c1 + r * 7 * h + role * h, h, m_.folded + (role * 4 * h + r) * h);
  products_.pack(m_.folded, h, 16 * h, h, m_.nodes);
  if (backward_) products_.pack_transposed(m_.folded, 16 * h, h, h, m_.nodes_back);
  std::fill_n(m_.node_bias, 16 * h, T(0));
  std::copy_n(w_[kC1 + 1], 4 * h, m_.node_bias);
  for (int mlp = 0; mlp < 3; ++mlp) {
    products_.pack(w_[first_weight(mlp)], sizes_.inputs(mlp), h, sizes_.inputs(mlp), m_.first[mlp]);
    const T* const b = c1 + (4 + mlp) * h;
    products_.pack_transposed(w_[second_weight(mlp)], h, h, h, m_.second[mlp]);
    products_.multiply({b, 7 * h}, 4 * h, m_.second[mlp], h, h, nullptr, m_.folded, {});
    products_.pack(m_.folded, h, 4 * h, h, m_.second[mlp]);
    if (backward_) products_.pack_transposed(m_.folded, 4 * h, h, h, m_.second_back[mlp]);
    const T* const bias = w_[second_weight(mlp) + 1];
    for (int64_t r = 0; r < 4 * h; ++r) {
      T sum = 0;
      for (int64_t k = 0; k < h; ++k) sum += b[r * 7 * h + k] * bias[k];
      m_.node_bias[r] += sum;
    }
  }
  products_.pack(w_[kC2], 4 * h, 2 * h, 4 * h, m_.c2);
  products_.pack(w_[kC3], 2 * h, h, 2 * h, m_.c3);
  if (backward_) {
    products_.pack_transposed(w_[kC2], 2 * h, 4 * h, 4 * h, m_.c2_back);
    products_.pack_transposed(w_[kC3], h, 2 * h, 2 * h, m_.c3_back);
  }
  fill_path_basis(sizes_, cutoff, periodic, m_.slope, m_.offset);
}

// Computes the products of the nodes that were added to the table.
template <typename T>
void PathLayer<T>::compute_nodes() {
  const int64_t h = sizes_.hidden;
  const int64_t first = ready_;
  const int64_t count = m_.slots.used - first;
  for (int64_t s = first; s < m_.slots.used; ++s) {
    std::copy_n(x_ + m_.slots.node[s] * h, h, m_.x + s * h);
    std::copy_n(pos_ + m_.slots.node[s] * int64_t{3}, 3, m_.pos + s * 3);
  }
  products_.multiply({m_.x + first * h, h}, count, m_.nodes, h, 16 * h, m_.node_bias,
                     m_.table + first * 16 * h, {});
  if (backward_) std::fill_n(m_.table_gradient + first * 16 * h, count * 16 * h, T(0));
  ready_ = m_.slots.used;
}

// Computes the rows of r3, one for all paths of an edge that have the same p and the same side of the plane.
template <typename T>
void PathLayer<T>::share() {
  PathGeometry<T>& g = m_.geometry;
  std::fill_n(m_.last_edge, 2 * sizes_.slots(), -1);
  rows_ = 0;
  for (int64_t p = 0; p < m_.tile.paths; ++p) {
    const int32_t edge = m_.tile.triple_edge[m_.tile.path_triple[p]];
    const bool other_side = periodic_ && g.path_torsion != nullptr && g.path_torsion[p] > T(0.5);
    const int64_t key = 2 * int64_t{m_.tile.path_node[p]} + (other_side ? 1 : 0);
    if (m_.last_edge[key] != edge) {
      m_.last_edge[key] = edge;
      m_.row_of[key] = static_cast<int32_t>(rows_);
      for (T* value : {g.path_distance, g.path_angle, g.path_torsion, g.path_cosine})
        if (value != nullptr) value[rows_] = value[p];
      ++rows_;
    }
    m_.shared_row[p] = m_.row_of[key];
  }
}

// Computes the tile up to relu(C2 relu(z)).
template <typename T>
void PathLayer<T>::compute() {
  const int64_t h = sizes_.hidden;
  const int64_t step = 16 * h;
  const PathTile& tile = m_.tile;
  const PathGeometry<T>& g = m_.geometry;
  compute_nodes();
  measure_paths(tile, m_.pos, periodic_, g);
  rows_ = tile.paths;
  if (sizes_.shared) share();

  const std::array<int64_t, 3> rows = {tile.edges, tile.triples, rows_};
  const PathBasis<T> basis = {sizes_.distances, sizes_.angles, sizes_.torsions, m_.slope, m_.offset};
  kernels_.spread(basis, g.edge_distance, nullptr, nullptr, nullptr, rows[0], sizes_.step(), m_.gaussians[0]);
  kernels_.spread(basis, g.triple_distance, g.triple_angle, nullptr, nullptr, rows[1], sizes_.step(),
                  m_.gaussians[1]);
  kernels_.spread(basis, g.path_distance, g.path_angle, g.path_torsion, g.path_cosine, rows[2], sizes_.step(),
                  m_.gaussians[2]);
  for (int mlp = 0; mlp < 3; ++mlp)
    products_.multiply({m_.gaussians[mlp], 1, sizes_.step()}, rows[static_cast<size_t>(mlp)], m_.first[mlp],
                       sizes_.inputs(mlp), h, w_[first_weight(mlp) + 1], m_.r[mlp], {.relu = true});

  const T* const of_i = m_.table;
  const T* const of_j = m_.table + 4 * h;
  const T* const of_k = m_.table + 8 * h;
  const T* const of_p = m_.table + 12 * h;
  kernels_.gather(of_i, step, tile.edge_source, of_j, step, tile.edge_target, nullptr, nullptr, rows[0],
                  4 * h, false, m_.z[0]);
  products_.multiply({m_.r[0], h}, rows[0], m_.second[0], h, 4 * h, nullptr, m_.z[0], {.add = true});
  kernels_.gather(m_.z[0], 4 * h, tile.triple_edge, of_k, step, tile.triple_node, nullptr, nullptr, rows[1],
                  4 * h, false, m_.z[1]);
  products_.multiply({m_.r[1], h}, rows[1], m_.second[1], h, 4 * h, nullptr, m_.z[1], {.add = true});
  if (sizes_.shared) {
    products_.multiply({m_.r[2], h}, rows_, m_.second[2], h, 4 * h, nullptr, m_.dz, {});
    kernels_.gather(m_.z[1], 4 * h, tile.path_triple, of_p, step, tile.path_node, m_.dz, m_.shared_row,
                    tile.paths, 4 * h, true, m_.z[2]);
  } else {
    kernels_.gather(m_.z[1], 4 * h, tile.path_triple, of_p, step, tile.path_node, nullptr, nullptr,
                    tile.paths, 4 * h, false, m_.z[2]);
    products_.multiply({m_.r[2], h}, rows_, m_.second[2], h, 4 * h, nullptr, m_.z[2],
                       {.add = true, .relu = true});
  }
  products_.multiply({m_.z[2], 4 * h}, tile.paths, m_.c2, 4 * h, 2 * h, w_[kC2 + 1], m_.s, {.relu = true});
}

template <typename T>
void PathLayer<T>::sum_up() {
  const PathTile& tile = m_.tile;
  kernels_.scatter(m_.s, tile.paths, 2 * sizes_.hidden, tile.path_source, 2 * sizes_.hidden, m_.sums);
  for (int64_t p = 0; p < tile.paths; ++p) ++m_.counts[tile.path_source[p]];
}

// Sets the sums of `count` sources to zero, then calls work() for each tile of their paths.
template <typename T>
template <typename Work>
void PathLayer<T>::over_tiles(int64_t first, int64_t count, const Work& work) {
  std::fill_n(m_.sums, count * 2 * sizes_.hidden, T(0));
  std::fill_n(m_.counts, count, 0);
  for (;;) {
    if (!walk_.fill(first, count, m_.tile, m_.slots)) {
      release_slots();
      walk_.fill(first, count, m_.tile, m_.slots);
    }
    if (m_.tile.paths == 0) return;
    compute();
    sum_up();
    work();
  }
}

template <typename T>
void PathLayer<T>::forward(T* out) {
  const int64_t h = sizes_.hidden;
  for (int64_t first = 0; first < sizes_.nodes; first += sizes_.window()) {
    const int64_t count = std::min(sizes_.window(), sizes_.nodes - first);
    over_tiles(first, count, [] {});
    products_.multiply({m_.sums, 2 * h}, count, m_.c3, 2 * h, h, nullptr, out + first * h, {});
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < h; ++c)
        out[(first + r) * h + c] += static_cast<T>(m_.counts[r]) * w_[kC3 + 1][c];
  }
}

template <typename T>
void PathLayer<T>::backward(const T* grad, T* dx, const Gradients& gradients) {
  const int64_t h = sizes_.hidden;
  dx_ = dx;
  std::fill_n(m_.dnodes, 16 * h * h, T(0));
  for (int mlp = 0; mlp < 3; ++mlp) {
    std::fill_n(m_.dq[mlp], 4 * h * h, T(0));
    std::fill_n(m_.dfirst[mlp], sizes_.inputs(mlp) * h, T(0));
  }
  for (int64_t first = 0; first < sizes_.nodes; first += sizes_.window()) {
    const int64_t count = std::min(sizes_.window(), sizes_.nodes - first);
    const T* const g = grad + first * h;
    products_.multiply({g, h}, count, m_.c3_back, h, 2 * h, nullptr, m_.source_gradients, {});
    over_tiles(first, count, [&] { backward_tile(gradients); });
    products_.add_transposed({g, h}, h, m_.sums, 2 * h, count, m_.buffer, gradients[kC3]);
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < h; ++c) gradients[kC3 + 1][c] += static_cast<T>(m_.counts[r]) * g[r * h + c];
  }
  release_slots();
  unfold(gradients);
}

template <typename T>
void PathLayer<T>::backward_tile(const Gradients& gradients) {
  const int64_t h = sizes_.hidden;
  const int64_t step = 16 * h;
  const PathTile& tile = m_.tile;
  T* const d_table = m_.table_gradient;
  kernels_.mask_rows(m_.source_gradients, tile.path_source, m_.s, tile.paths, 2 * h, gradients[kC2 + 1]);
  products_.add_transposed({m_.s, 2 * h}, 2 * h, m_.z[2], 4 * h, tile.paths, m_.buffer, gradients[kC2]);
  products_.multiply({m_.s, 2 * h}, tile.paths, m_.c2_back, 2 * h, 4 * h, nullptr, m_.dz, {});

  // From here on, z of triples and edges holds their gradients.
  std::fill_n(m_.z[1], tile.triples * 4 * h, T(0));
  kernels_.mask_and_scatter(m_.dz, m_.z[2], tile.paths, 4 * h, m_.z[1], tile.path_triple, d_table + 12 * h,
                            tile.path_node, step);
  const T* dz = m_.dz;
  if (sizes_.shared) {
    std::fill_n(m_.z[2], rows_ * 4 * h, T(0));
    kernels_.scatter(m_.dz, tile.paths, 4 * h, m_.shared_row, 4 * h, m_.z[2]);
    dz = m_.z[2];
  }
  backward_mlp(2, dz, rows_, gradients);

  std::fill_n(m_.z[0], tile.edges * 4 * h, T(0));
  kernels_.scatter(m_.z[1], tile.triples, 4 * h, tile.triple_edge, 4 * h, m_.z[0]);
  kernels_.scatter(m_.z[1], tile.triples, 4 * h, tile.triple_node, step, d_table + 8 * h);
  backward_mlp(1, m_.z[1], tile.triples, gradients);

  kernels_.scatter(m_.z[0], tile.edges, 4 * h, tile.edge_source, step, d_table);
  kernels_.scatter(m_.z[0], tile.edges, 4 * h, tile.edge_target, step, d_table + 4 * h);
  kernels_.add_columns(m_.z[0], tile.edges, 4 * h, gradients[kC1 + 1]);
  backward_mlp(0, m_.z[0], tile.edges, gradients);
}

// Continues backward from the gradients of Q r.
template <typename T>
void PathLayer<T>::backward_mlp(int mlp, const T* dz, int64_t rows, const Gradients& gradients) {
  const int64_t h = sizes_.hidden;
  products_.add_transposed({dz, 4 * h}, 4 * h, m_.r[mlp], h, rows, m_.buffer, m_.dq[mlp]);
  products_.multiply({dz, 4 * h}, rows, m_.second_back[mlp], 4 * h, h, nullptr, m_.dr, {});
  kernels_.mask(m_.dr, m_.r[mlp], rows, h, gradients[first_weight(mlp) + 1]);
  products_.add_transposed({m_.gaussians[mlp], 1, sizes_.step()}, sizes_.inputs(mlp), m_.dr, h, rows,
                           m_.buffer, m_.dfirst[mlp]);
}

// Empties the table. In backward, first adds the gradients collected in it to those of x and A.
template <typename T>
void PathLayer<T>::release_slots() {
  const int64_t h = sizes_.hidden;
  if (backward_) {
    products_.add_transposed({m_.table_gradient, 16 * h}, 16 * h, m_.x, h, ready_, m_.buffer, m_.dnodes);
    products_.multiply({m_.table_gradient, 16 * h}, ready_, m_.nodes_back, 16 * h, h, nullptr, m_.dx, {});
    kernels_.scatter(m_.dx, ready_, h, m_.slots.node, h, dx_);
  }
  m_.slots.clear();
  ready_ = 0;
}

// Computes the gradients of the original, not folded, weights: dB = dQ M^T + dc0 m^T, dM = B^T dQ, dm = B^T
// dc0.
template <typename T>
void PathLayer<T>::unfold(const Gradients& gradients) {
  const int64_t h = sizes_.hidden;
  const T* const dc0 = gradients[kC1 + 1];
  T* const dc1 = gradients[kC1];
  for (int64_t role = 0; role < 4; ++role)
    for (int64_t r = 0; r < 4 * h; ++r)
      std::copy_n(m_.dnodes + (role * 4 * h + r) * h, h, dc1 + r * 7 * h + role * h);
  for (int mlp = 0; mlp < 3; ++mlp) {
    const T* const b = w_[kC1] + (4 + mlp) * h;
    const T* const bias = w_[second_weight(mlp) + 1];
    T* const dbias = gradients[second_weight(mlp) + 1];
    products_.pack(w_[second_weight(mlp)], h, h, h, m_.second[mlp]);
    products_.multiply({m_.dq[mlp], h}, 4 * h, m_.second[mlp], h, h, nullptr, m_.folded, {});
    products_.add_transposed({b, 7 * h}, h, m_.dq[mlp], h, 4 * h, m_.buffer, gradients[second_weight(mlp)]);
    for (int64_t r = 0; r < 4 * h; ++r)
      for (int64_t c = 0; c < h; ++c) {
        dc1[r * 7 * h + (4 + mlp) * h + c] = m_.folded[r * h + c] + dc0[r] * bias[c];
        dbias[c] += b[r * 7 * h + c] * dc0[r];
      }
    const int64_t inputs = sizes_.inputs(mlp);
    for (int64_t c = 0; c < h; ++c)
      for (int64_t i = 0; i < inputs; ++i)
        gradients[first_weight(mlp)][c * inputs + i] = m_.dfirst[mlp][i * h + c];
  }
}

template class PathLayer<float>;
template class PathLayer<double>;

}  // namespace plimsoll

#include "ops/path_message/path_message_gpu.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/path_message/path_message_gpu.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/device_bytes.h"
#include "ops/device_layer.h"
#include "ops/numbers.h"
#include "ops/path_message/path_basis.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;

// Number of rows over which one product sums. A product over all rows of a tile has many rows and few
// results, so a GPU would be mostly idle. It is cut into products of kPartRows rows, whose results are added.
constexpr int64_t kPartRows = 512;
constexpr int64_t whole_parts(int64_t rows) {
  return rows / kPartRows;
}
int64_t most_of_product(const PathSizes& sizes) {
  return std::max(8 * sizes.hidden, sizes.inputs(2)) * sizes.hidden;
}

// The arrays of a tile, of the layer and of the nodes, named as in path_message.h and PathLayer.
template <typename T>
struct DevicePieces {
  int64_t* before;            // [edges + 1].
  T *counts, *sums, *table;   // [N], [N, 2H], [N, 16H].
  T *nodes, *bias, *fold[3];  // [16H, H], [4H], [4H, H] each.
  T *slope, *offset, *ones;   // slope and offset of Gaussians; ones [tile].
  int32_t* node[4];           // [tile].
  T *gaussians[3], *r[3], *z, *s;
  T* dz;  // The shape of z.
  T *d_sums, *d_table, *d_fold[3], *d_nodes;
  T* part;  // [whole_parts(tile), 8H, H], the products of parts of a tile's rows.

  int64_t lay_out(const PathSizes& sizes, int64_t edges, bool backward, void* memory) {
    PathPieces pieces(memory);
    const int64_t h = sizes.hidden;
    pieces.take(before, edges + 1);
    pieces.take(counts, sizes.nodes);
    pieces.take(sums, sizes.nodes * 2 * h);
    pieces.take(table, sizes.nodes * 16 * h);
    pieces.take(nodes, 16 * h * h);
    pieces.take(bias, 4 * h);
    for (T*& q : fold) pieces.take(q, 4 * h * h);
    pieces.take(slope, sizes.inputs(2));
    pieces.take(offset, sizes.inputs(2));
    pieces.take(ones, sizes.tile);
    for (int32_t*& array : node) pieces.take(array, sizes.tile);
    for (int mlp = 0; mlp < 3; ++mlp) pieces.take(gaussians[mlp], sizes.tile * sizes.inputs(mlp));
    for (T*& array : r) pieces.take(array, sizes.tile * h);
    pieces.take(z, sizes.tile * 4 * h);
    pieces.take(s, sizes.tile * 2 * h);
    if (!backward) return pieces.bytes();
    pieces.take(dz, sizes.tile * 4 * h);
    pieces.take(d_sums, sizes.nodes * 2 * h);
    pieces.take(d_table, sizes.nodes * 16 * h);
    for (T*& q : d_fold) pieces.take(q, 4 * h * h);
    pieces.take(d_nodes, 16 * h * h);
    pieces.take(part, whole_parts(sizes.tile) * most_of_product(sizes));
    return pieces.bytes();
  }
};

// Writes the gradient where values are above 0, otherwise 0. `to` may be either argument.
void keep_positive(const Tensor& gradient, const Tensor& values, const Tensor& to) {
  Tensor kept = to;
  at::threshold_backward_out(kept, gradient, values, 0);
}

template <typename T>
class DevicePathLayer {
 public:
  DevicePathLayer(const Tensor& x, const Tensor& pos, const PathEdges& edges, const PathWeights& weights,
                  const PathOptions& options, const PathSizes& sizes, bool backward)
      : x_(x),
        pos_(pos),
        edges_(edges),
        w_(weights),
        options_(options),
        sizes_(sizes),
        h_(sizes.hidden),
        device_(x) {
    DevicePieces<T> none;
    memory_ = at::empty({none.lay_out(sizes, max_edges(), backward, nullptr)}, x.options().dtype(at::kByte));
    m_.lay_out(sizes, max_edges(), backward, memory_.mutable_data_ptr());
    fold();
    number();
  }

  void forward(const Tensor& out) {
    view(m_.sums, {sizes_.nodes, 2 * h_}).zero_();
    over_tiles([](int64_t) {});
    Tensor to = out;
    at::mm_out(to, view(m_.sums, {sizes_.nodes, 2 * h_}), w_[kC3].t());
    to.addr_(view(m_.counts, {sizes_.nodes}), w_[kC3 + 1]);
  }

  void backward(const Tensor& grad, const Tensor& dx, const PathWeights& gradients) {
    view(m_.sums, {sizes_.nodes, 2 * h_}).zero_();
    view(m_.d_table, {sizes_.nodes, 16 * h_}).zero_();
    for (T* q : m_.d_fold) view(q, {4 * h_, h_}).zero_();
    Tensor d_sums = view(m_.d_sums, {sizes_.nodes, 2 * h_});
    at::mm_out(d_sums, grad, w_[kC3]);
    over_tiles([&](int64_t rows) { backward_tile(rows, gradients); });
    Tensor dc3 = gradients[kC3];
    at::mm_out(dc3, grad.t(), view(m_.sums, {sizes_.nodes, 2 * h_}));
    Tensor dc3b = gradients[kC3 + 1];
    at::mv_out(dc3b, grad.t(), view(m_.counts, {sizes_.nodes}));
    Tensor to = dx;
    at::mm_out(to, view(m_.d_table, {sizes_.nodes, 16 * h_}), view(m_.nodes, {16 * h_, h_}));
    unfold(gradients);
  }

 private:
  int64_t max_edges() const { return edges_.target.numel(); }

  template <typename N>
  Tensor view(N* data, at::IntArrayRef sizes) const {
    return at::for_blob(data, sizes)
        .options(x_.options().dtype(c10::CppTypeToScalarType<N>::value))
        .target_device(x_.device())
        .make_tensor();
  }
  Tensor part_of_c1(int64_t column) const { return w_[kC1].narrow(1, column * h_, h_); }

  // Folds the weights as PathLayer::fold() does.
  void fold() {
    const Tensor bias = view(m_.bias, {4 * h_});
    bias.copy_(w_[kC1 + 1]);
    for (int64_t role = 0; role < 4; ++role)
      view(m_.nodes + role * 4 * h_ * h_, {4 * h_, h_}).copy_(part_of_c1(role));
    for (int mlp = 0; mlp < 3; ++mlp) {
      const Tensor b = part_of_c1(4 + mlp);
      Tensor q = view(m_.fold[mlp], {4 * h_, h_});
      at::mm_out(q, b, w_[second_weight(mlp)]);
      Tensor sum = bias;
      sum.addmv_(b, w_[second_weight(mlp) + 1]);
    }
    Tensor table = view(m_.table, {sizes_.nodes, 16 * h_});
    at::mm_out(table, x_, view(m_.nodes, {16 * h_, h_}).t());
    table.narrow(1, 0, 4 * h_).add_(bias);
    view(m_.ones, {sizes_.tile}).fill_(1);
    const int64_t count = sizes_.inputs(2);
    const Tensor basis = at::empty({2, count}, at::TensorOptions(at::kCPU).dtype(x_.scalar_type()));
    T* const slope = basis.template mutable_data_ptr<T>();
    fill_path_basis(sizes_, options_.cutoff, options_.mode == PathMode::corrected, slope, slope + count);
    view(m_.slope, {count}).copy_(basis[0]);
    view(m_.offset, {count}).copy_(basis[1]);
  }

  PathGraph graph() const {
    return {.nodes = sizes_.nodes,
            .row_begin = read<int64_t>(edges_.row_begin),
            .target = read<int32_t>(edges_.target),
            .self_paths = options_.mode == PathMode::reference};
  }

  // Numbers all paths. Waits for the device once.
  void number() {
    Tensor before = view(m_.before, {max_edges() + 1});
    before.zero_();
    if (max_edges() > 0) {
      Tensor of_edges = before.narrow(0, 1, max_edges());
      count_edge_paths_cuda(graph(), max_edges(), m_.before + 1, device_.stream());
      of_edges.cumsum_(0);
    }
    const int64_t self = options_.mode == PathMode::reference ? 1 : 0;
    const Tensor of_nodes = at::diff(before.index_select(0, edges_.row_begin)).add_(self);
    view(m_.counts, {sizes_.nodes}).copy_(of_nodes);
    paths_ = before[max_edges()].template item<int64_t>() + self * sizes_.nodes;
  }

  template <typename Work>
  void over_tiles(const Work& work) {
    for (int64_t first = 0; first < paths_; first += sizes_.tile) {
      const int64_t rows = std::min(sizes_.tile, paths_ - first);
      compute(first, rows);
      scatter(m_.s, 2 * h_, rows, m_.node[0], nullptr, m_.sums, 2 * h_);
      work(rows);
    }
  }

  // Computes a tile up to relu(C2 relu(z)).
  void compute(int64_t first, int64_t rows) {
    FoundPaths<T> paths{.numbers = {graph(), m_.before},
                        .first = first,
                        .rows = rows,
                        .pos = read<T>(pos_),
                        .basis = {sizes_.distances, sizes_.angles, sizes_.torsions, m_.slope, m_.offset},
                        .periodic = options_.mode == PathMode::corrected};
    std::copy_n(m_.node, 4, paths.node);
    std::copy_n(m_.gaussians, 3, paths.gaussians);
    find_paths_cuda(paths, device_.stream());
    GatheredRows<T> gathered{.table = m_.table, .width = 4 * h_, .out = m_.z};
    std::copy_n(m_.node, 4, gathered.node);
    gather_rows_cuda(gathered, rows, device_.stream());
    Tensor z = view(m_.z, {rows, 4 * h_});
    for (int mlp = 0; mlp < 3; ++mlp) {
      Tensor r = view(m_.r[mlp], {rows, h_});
      at::addmm_out(r, w_[first_weight(mlp) + 1], view(m_.gaussians[mlp], {rows, sizes_.inputs(mlp)}),
                    w_[first_weight(mlp)].t());
      r.relu_();
      z.addmm_(r, view(m_.fold[mlp], {4 * h_, h_}).t());
    }
    z.relu_();
    Tensor s = view(m_.s, {rows, 2 * h_});
    at::addmm_out(s, w_[kC2 + 1], z, w_[kC2].t());
    s.relu_();
  }

  void scatter(const T* in, int64_t width, int64_t rows, const int32_t* at, const int64_t* order, T* out,
               int64_t step) const {
    scatter_rows_cuda<T>(
        {.in = in, .rows = rows, .width = width, .at = at, .order = order, .out = out, .step = step},
        device_.stream());
  }

  // Adds the sum of `rows` to `sum`.
  void add_columns(const Tensor& sum, const Tensor& rows) const {
    add_product_of_rows(sum.view({1, -1}), view(m_.ones, {rows.size(0), 1}), rows);
  }

  // Computes sum += a^T b.
  void add_product_of_rows(const Tensor& sum, const Tensor& a, const Tensor& b) const {
    const int64_t parts = whole_parts(a.size(0));
    const auto in_parts = [&](const Tensor& rows) {
      return rows.narrow(0, 0, parts * kPartRows).view({parts, kPartRows, rows.size(1)});
    };
    if (parts > 0) {
      Tensor products = view(m_.part, {parts, a.size(1), b.size(1)});
      at::bmm_out(products, in_parts(a).transpose(1, 2), in_parts(b));
      Tensor to = sum.view({-1});
      to.addmv_(products.view({parts, -1}).t(), view(m_.ones, {parts}));
    }
    const int64_t rest = a.size(0) - parts * kPartRows;
    if (rest > 0)
      add_product(sum, a.narrow(0, parts * kPartRows, rest).t(), b.narrow(0, parts * kPartRows, rest));
  }

  // Gradients overwrite arrays that are no longer read: first the gradient of s, then dr, overwrites s.
  void backward_tile(int64_t rows, const PathWeights& gradients) {
    const Tensor z = view(m_.z, {rows, 4 * h_});
    const Tensor ds = view(m_.s, {rows, 2 * h_});
    Tensor of_sums = view(m_.dz, {rows, 2 * h_});
    at::index_select_out(of_sums, view(m_.d_sums, {sizes_.nodes, 2 * h_}), 0, view(m_.node[0], {rows}));
    keep_positive(of_sums, ds, ds);
    add_product_of_rows(gradients[kC2], ds, z);
    add_columns(gradients[kC2 + 1], ds);
    Tensor dz = view(m_.dz, {rows, 4 * h_});
    at::mm_out(dz, ds, w_[kC2]);
    keep_positive(dz, z, dz);
    add_columns(gradients[kC1 + 1], dz);
    scatter(m_.dz, 4 * h_, rows, m_.node[0], nullptr, m_.d_table, 16 * h_);
    for (int64_t role = 1; role < 4; ++role) {
      const auto [sorted, order] = at::sort(view(m_.node[role], {rows}), /*stable=*/true, 0, false);
      scatter(m_.dz, 4 * h_, rows, read<int32_t>(sorted), read<int64_t>(order), m_.d_table + role * 4 * h_,
              16 * h_);
    }
    for (int mlp = 0; mlp < 3; ++mlp) {
      const Tensor r = view(m_.r[mlp], {rows, h_});
      add_product_of_rows(view(m_.d_fold[mlp], {4 * h_, h_}), dz, r);
      Tensor dr = view(m_.s, {rows, h_});
      at::mm_out(dr, dz, view(m_.fold[mlp], {4 * h_, h_}));
      keep_positive(dr, r, dr);
      add_product_of_rows(gradients[first_weight(mlp)], dr,
                          view(m_.gaussians[mlp], {rows, sizes_.inputs(mlp)}));
      add_columns(gradients[first_weight(mlp) + 1], dr);
    }
  }

  static void add_product(const Tensor& sum, const Tensor& a, const Tensor& b) {
    Tensor to = sum;
    to.addmm_(a, b);
  }

  // Computes the gradients of the given weights as PathLayer::unfold() does.
  void unfold(const PathWeights& gradients) {
    Tensor d_nodes = view(m_.d_nodes, {16 * h_, h_});
    at::mm_out(d_nodes, view(m_.d_table, {sizes_.nodes, 16 * h_}).t(), x_);
    for (int64_t role = 0; role < 4; ++role)
      gradients[kC1].narrow(1, role * h_, h_).copy_(d_nodes.narrow(0, role * 4 * h_, 4 * h_));
    const Tensor dbias = gradients[kC1 + 1];
    for (int mlp = 0; mlp < 3; ++mlp) {
      const Tensor b = part_of_c1(4 + mlp);
      const Tensor dq = view(m_.d_fold[mlp], {4 * h_, h_});
      add_product(gradients[second_weight(mlp)], b.t(), dq);
      Tensor to = gradients[second_weight(mlp) + 1];
      to.addmv_(b.t(), dbias);
      Tensor db = d_nodes.narrow(0, 0, 4 * h_);
      at::mm_out(db, dq, w_[second_weight(mlp)].t());
      db.addr_(dbias, w_[second_weight(mlp) + 1]);
      gradients[kC1].narrow(1, (4 + mlp) * h_, h_).copy_(db);
    }
  }

  const Tensor& x_;
  const Tensor& pos_;
  const PathEdges& edges_;
  const PathWeights& w_;
  const PathOptions& options_;
  const PathSizes sizes_;
  const int64_t h_;
  const CurrentDeviceScope device_;
  Tensor memory_;
  DevicePieces<T> m_{};
  int64_t paths_ = 0;
};

PathSizes check_on_device(const Tensor& x, const Tensor& pos, const PathEdges& edges,
                          const PathWeights& weights, const PathOptions& options) {
  const PathSizes sizes = check_path_layer(x, pos, weights, options);
  const auto& [row_begin, target] = edges;
  require(row_begin.scalar_type() == at::kLong && row_begin.dim() == 1 && row_begin.is_contiguous() &&
              row_begin.size(0) == x.size(0) + 1 && row_begin.device() == x.device(),
          "row_begin i64 [N + 1] of path_edges on x's device", row_begin);
  require(target.scalar_type() == at::kInt && target.dim() == 1 && target.is_contiguous() &&
              target.device() == x.device(),
          "target i32 [E] of path_edges on x's device", target);
  // If positions are invalid, the check on the host reports the error.
  const Tensor z = pos.select(1, 2);
  const bool right = at::isfinite(pos).all().item<bool>() &&
                     (!options.planar || z.numel() == 0 || z.eq(z[0]).all().item<bool>());
  if (!right) check_positions(pos.cpu(), options.planar);
  return sizes;
}

}  // namespace

int64_t path_device_workspace(const PathSizes& sizes, int64_t edges, bool backward, size_t number_bytes) {
  constexpr int64_t kSmall = 4096;  // Bytes of temporary memory of torch's operators, except for the parts
                                    // that grow.
  const int64_t layer = number_bytes == sizeof(float)
                            ? DevicePieces<float>().lay_out(sizes, edges, backward, nullptr)
                            : DevicePieces<double>().lay_out(sizes, edges, backward, nullptr);
  // Holds counts of nodes while paths are numbered; later it is the buffer for sorting a tile.
  const int64_t counting = (3 * sizes.nodes + edges) * static_cast<int64_t>(sizeof(int64_t));
  return layer + kSmall + std::max(counting, backward ? sizes.tile * kSortBytes : 0);
}

Tensor path_message_on_device(const Tensor& x, const Tensor& pos, const PathEdges& edges,
                              const PathWeights& weights, const PathOptions& options) {
  const Tensor out = at::empty(x.sizes(), x.options());
  const WorkspaceScope workspace;
  const PathSizes sizes = check_on_device(x, pos, edges, weights, options);
  const Tensor rows = x.contiguous();
  const Tensor places = pos.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "path_message_on_device", [&] {
    DevicePathLayer<scalar_t>(rows, places, edges, weights, options, sizes, /*backward=*/false).forward(out);
  });
  return out;
}

std::pair<Tensor, PathWeights> path_message_backward_on_device(const Tensor& grad, const Tensor& x,
                                                               const Tensor& pos, const PathEdges& edges,
                                                               const PathWeights& weights,
                                                               const PathOptions& options) {
  const Tensor dx = at::empty(x.sizes(), x.options());
  PathWeights gradients;
  for (size_t w = 0; w < weights.size(); ++w) gradients[w] = at::zeros(weights[w].sizes(), x.options());
  const WorkspaceScope workspace;
  const PathSizes sizes = check_on_device(x, pos, edges, weights, options);
  require(grad.sizes() == x.sizes() && grad.scalar_type() == x.scalar_type() && grad.device() == x.device(),
          "a gradient [N, H] of x's dtype", grad);
  const Tensor dout = grad.contiguous();
  const Tensor rows = x.contiguous();
  const Tensor places = pos.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "path_message_backward_on_device", [&] {
    DevicePathLayer<scalar_t>(rows, places, edges, weights, options, sizes, /*backward=*/true)
        .backward(dout, dx, gradients);
  });
  return {dx, gradients};
}

}  // namespace plimsoll

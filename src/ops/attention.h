#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>

#include "kernels/attention.h"

namespace plimsoll {

/// Edges by target, as attention reads them (kernels/edge_order.h): i32, one dimension. edge_index is i64 [2,
/// E], sources above targets. With `same_nodes` sources and targets are the same nodes. Errors: UsageError,
/// InputError.
at::Tensor edge_order(const at::Tensor& edge_index, int64_t sources, int64_t targets, bool same_nodes,
                      bool drop_loops);

/// The caller's edges, E, of an order for so many targets.
template <typename Size>
Size edges_of_order(const Size& order_size, const Size& targets) {
  return (order_size - edge_order_size(0, 0) - 2 * targets) / 2;
}

/// What a layer of attention computes, apart from tensors.
struct AttentionOptions {
  int64_t heads = 1;
  double slope = 0.2;         ///< of LeakyReLU
  bool loops = false;         ///< add a self-loop to every target
  std::string fill = "mean";  ///< edge features of added self-loops: zero | mean | value
  double fill_value = 0;
  double dropout = 0;           ///< of attention weights
  bool keep_projection = true;  ///< keep z for backward; else it is computed again from x
  bool return_attention = false;
};

/// Tensors that every kind of attention takes; floats f32 or f64 alike. S sources, T targets, E edges, H
/// heads of D channels, K edge features.
struct AttentionTensors {
  at::Tensor x;          ///< [S, F]
  at::Tensor weight;     ///< [H*D, F]
  at::Tensor order;      ///< edge_order()
  at::Tensor edge_attr;  ///< [E, K], or undefined
  at::Tensor bias;       ///< [H*D], or undefined
  at::Tensor seed;       ///< i64 [3]: seed, layer, epoch; undefined where dropout is 0
  at::Tensor keys;  ///< i64 [3, T]: item, local number and first edge (AttentionDropout); undefined: none
};

struct AttentionSizes {
  int64_t sources, targets, edges, features, heads, channels, edge_features;

  int64_t width() const { return heads * channels; }
};

// For the files that make layers of tensors.

template <typename T>
const T* read(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.const_data_ptr<T>() : nullptr;
}
template <typename T>
T* write(const at::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.mutable_data_ptr<T>() : nullptr;
}

/// Errors: UsageError that says what was expected and found.
void require(bool ok, const char* expected, const at::Tensor& found);
void require_like(const at::Tensor& x, const at::Tensor& tensor, at::IntArrayRef shape, const char* expected);

/// Checks a kept tensor [rows, columns]; it may also have no rows if `optional`.
void check_kept(const AttentionTensors& in, const at::Tensor& kept, int64_t rows, int64_t columns,
                bool optional);

/// Checks the given gradients: out [T, H*D], and alpha [E (+ T), H] or undefined.
void check_gradients(const AttentionTensors& in, const AttentionSizes& sizes, const AttentionOptions& options,
                     const at::Tensor& out, const at::Tensor& alpha);

/// Checks what is shared; `targets` is T.
AttentionSizes check_attention(const AttentionTensors& in, const AttentionOptions& options, int64_t targets,
                               int64_t edge_features);

/// Fills in what is shared, all but the order, z and what is written.
template <typename T>
void fill_options(Attention<T>& layer, const AttentionTensors& in, const AttentionSizes& sizes,
                  const AttentionOptions& options) {
  layer.caller_edges = sizes.edges;
  layer.heads = sizes.heads;
  layer.channels = sizes.channels;
  layer.edge_features = sizes.edge_features;
  layer.slope = static_cast<T>(options.slope);
  layer.loops = options.loops;
  layer.fill = options.fill == "zero"   ? LoopFill::zero
               : options.fill == "mean" ? LoopFill::mean
                                        : LoopFill::value;
  layer.fill_value = static_cast<T>(options.fill_value);
  layer.dropout.p = options.dropout;
  if (options.dropout > 0) {
    const int64_t* const seed = in.seed.const_data_ptr<int64_t>();
    layer.dropout.seed = static_cast<uint64_t>(seed[0]);
    layer.dropout.layer = static_cast<uint32_t>(seed[1]);
    layer.dropout.epoch = static_cast<uint32_t>(seed[2]);
    if (in.keys.defined()) {
      layer.dropout.item = in.keys.const_data_ptr<int64_t>();
      layer.dropout.local = layer.dropout.item + sizes.targets;
      layer.dropout.first_edge = layer.dropout.local + sizes.targets;
    }
  }
  layer.edge_attr = read<T>(in.edge_attr);
  layer.bias = read<T>(in.bias);
}

/// The same with the order.
template <typename T>
void fill_layer(Attention<T>& layer, const AttentionTensors& in, const AttentionSizes& sizes,
                const AttentionOptions& options) {
  fill_options(layer, in, sizes, options);
  layer.order = view_edge_order(in.order.const_data_ptr<int32_t>(), in.order.numel(), sizes.sources,
                                sizes.targets, sizes.edges);
}

/// Closed pieces where there are such, else ranges of a fixed number of targets: what threads share out.
class AttentionRanges {
 public:
  static constexpr int64_t kNodes = 1024;

  explicit AttentionRanges(const EdgeOrder& order) : order_(order) {}

  int64_t count() const { return order_.closed ? order_.pieces : (order_.targets + kNodes - 1) / kNodes; }
  int64_t begin(int64_t r) const { return order_.closed ? order_.piece_ptr[r] : r * kNodes; }
  int64_t end(int64_t r) const {
    return order_.closed ? order_.piece_ptr[r + 1] : std::min((r + 1) * kNodes, order_.targets);
  }
  /// Ranges of sources where pieces are not closed.
  int64_t source_count() const { return (order_.sources + kNodes - 1) / kNodes; }
  int64_t source_end(int64_t r) const { return std::min((r + 1) * kNodes, order_.sources); }
  int64_t largest() const {
    int64_t most = 0;
    for (int64_t r = 0; r < count(); ++r) most = std::max(most, end(r) - begin(r));
    return most;
  }
  /// Groups of closed pieces whose sums of weight gradients are kept apart and added in order.
  int64_t groups() const { return std::clamp<int64_t>(count() / 4, 1, 16); }

 private:
  EdgeOrder order_;
};

/// transpose_edge_order() in a tensor that must outlive the view.
OutEdges out_edges(const EdgeOrder& order, at::Tensor& room);

/// While it lives, matrix products of the calling thread take one thread: torch tells its BLAS to use all
/// also where it is called by one of several threads, and then the bits of a product depend on their number.
class OneProductThread {
 public:
  OneProductThread();
  ~OneProductThread();
  OneProductThread(const OneProductThread&) = delete;
  OneProductThread& operator=(const OneProductThread&) = delete;

 private:
  int before_ = 0;
};

/// work(first, last) on parts of 0 .. count-1 from several threads, with products as above.
template <typename Work>
void over_ranges(int64_t count, const Work& work) {
  at::parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const OneProductThread one;
    work(first, last);
  });
}

/// out = a b + c and a^T b, in parts that depend on the rows of a alone: the same bits for any number of
/// threads. c is one row, or of out's shape (then perhaps out itself), or undefined.
void multiply_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& out);
at::Tensor multiply_transposed(const at::Tensor& a, const at::Tensor& b);

/// out = rows begin .. end-1 of a, times b, in the calling thread's own way.
void multiply_rows(const at::Tensor& a, int64_t begin, int64_t end, const at::Tensor& b,
                   const at::Tensor& out);

}  // namespace plimsoll

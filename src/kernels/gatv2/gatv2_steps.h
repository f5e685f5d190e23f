#pragma once

// The CUDA kernels of dynamic graph attention as steps (warp.h), and the order in which they run. Formulas:
// gatv2.h.

#include "kernels/attention/attention_gpu.h"
#include "kernels/attention/attention_steps.h"
#include "kernels/sums_steps.h"

namespace plimsoll {

/// Number of edges whose rows a warp holds at once. Weights of edge features are loaded once for all of them.
inline constexpr int kEdgesAtOnce = 4;

/// Rows of up to kEdgesAtOnce edges. If there are fewer edges, the remaining rows repeat the last.
template <typename T>
struct EdgeRows {
  const T* z[kEdgesAtOnce];
  const T* z_target[kEdgesAtOnce];
  const T* features[kEdgesAtOnce];

  PLIMSOLL_DEVICE void set(int n, const Gatv2<T>& layer, const T* loop_features, const TargetEdges<T>& target,
                           int64_t e) {
    const int64_t width = layer.heads * layer.channels;
    z[n] = layer.z + target.source(layer, e) * width;
    z_target[n] = layer.z_target + target.node * width;
    features[n] = e < target.edges
                      ? layer.edge_attr + layer.order.edge[target.first + e] * layer.edge_features
                      : loop_features + target.node * layer.edge_features;
  }
  /// Selects the edges first, first + 1, ... of one target.
  PLIMSOLL_DEVICE EdgeRows(const Gatv2<T>& layer, const T* loop_features, const TargetEdges<T>& target,
                           int64_t first) {
    for (int n = 0; n < kEdgesAtOnce; ++n)
      set(n, layer, loop_features, target, first + n < target.all ? first + n : target.all - 1);
  }
  PLIMSOLL_DEVICE EdgeRows() {}

  /// Computes y of each edge at a lane's column.
  template <int kVector, typename Warp>
  PLIMSOLL_DEVICE void y(const Warp& warp, const Gatv2<T>& layer, int column,
                         Pack<T, kVector> (&sum)[kEdgesAtOnce]) const {
    const int64_t width = layer.heads * layer.channels;
    for (int n = 0; n < kEdgesAtOnce; ++n) {
      sum[n] = warp.template load<kVector>(z_target[n] + column);
      const Pack<T, kVector> from = warp.template load<kVector>(z[n] + column);
      for (int v = 0; v < kVector; ++v) sum[n].at[v] += from.at[v];
    }
    for (int64_t k = 0; k < layer.edge_features; ++k) {
      const Pack<T, kVector> w = warp.template load<kVector>(layer.edge_weight + k * width + column);
      for (int n = 0; n < kEdgesAtOnce; ++n) {
        const T f = features[n][k];
        for (int v = 0; v < kVector; ++v) sum[n].at[v] += f * w.at[v];
      }
    }
  }
};

/// Replaces y by its gradient dl * att * LeakyReLU'(y).
template <int kVector, typename T>
PLIMSOLL_DEVICE void differentiate(T dl, const Pack<T, kVector>& att, T slope, Pack<T, kVector>& y) {
  for (int v = 0; v < kVector; ++v) y.at[v] = dl * att.at[v] * (y.at[v] > T(0) ? T(1) : slope);
}

/// Item: a target. Computes the features of its added self-loop, [T, K].
template <typename T>
struct LoopFeatures {
  Gatv2<T> layer;
  T* loop_features;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t i) const {
    const TargetEdges<T> target(layer, i);
    warp.each([&](int lane) {
      for (int64_t k = lane; k < layer.edge_features; k += kWarpLanes) {
        T mine = layer.fill == LoopFill::value ? layer.fill_value : T(0);
        if (layer.fill == LoopFill::mean && target.edges > 0) {
          for (int64_t e = 0; e < target.edges; ++e)
            mine += layer.edge_attr[layer.order.edge[target.first + e] * layer.edge_features + k];
          mine /= static_cast<T>(target.edges);
        }
        loop_features[i * layer.edge_features + k] = mine;
      }
    });
  }
};

/// Writes scores of a target's edges to `scores`, and <grad_i, z_j> to `p` if there is a gradient of out.
template <int kVector, typename Warp, typename T>
PLIMSOLL_DEVICE void gatv2_scores(const Warp& warp, const Gatv2<T>& layer, const T* loop_features,
                                  const TargetEdges<T>& target, const T* grad, const EdgeNumbers<T>& scores,
                                  const EdgeNumbers<T>& p) {
  const HeadTiles<kVector> tiles(layer.heads, layer.channels);
  for (int tile = 0; tile < tiles.count(); ++tile) {
    for (int64_t e = 0; e < target.all; e += kEdgesAtOnce) {
      PerLane<Warp, T> score[kEdgesAtOnce];
      PerLane<Warp, T> product[kEdgesAtOnce];
      warp.each([&](int lane) {
        const int column = tiles.column(tile, lane);
        if (column < 0) return;
        const EdgeRows<T> rows(layer, loop_features, target, e);
        const Pack<T, kVector> att = warp.template load<kVector>(layer.att + column);
        Pack<T, kVector> y[kEdgesAtOnce];
        rows.y(warp, layer, column, y);
        for (int n = 0; n < kEdgesAtOnce; ++n)
          for (int v = 0; v < kVector; ++v) score[n][lane] += leaky(y[n].at[v], layer.slope) * att.at[v];
        if (grad == nullptr) return;
        const Pack<T, kVector> g = warp.template load<kVector>(grad + column);
        for (int n = 0; n < kEdgesAtOnce; ++n) {
          const Pack<T, kVector> z = warp.template load<kVector>(rows.z[n] + column);
          for (int v = 0; v < kVector; ++v) product[n][lane] += g.at[v] * z.at[v];
        }
      });
      for (int n = 0; n < kEdgesAtOnce; ++n) {
        warp.sum(score[n], 1, tiles.lanes);
        if (grad != nullptr) warp.sum(product[n], 1, tiles.lanes);
      }
      warp.each([&](int lane) {
        if (!tiles.leads(tile, lane)) return;
        for (int n = 0; n < kEdgesAtOnce; ++n) {
          if (e + n >= target.all) continue;
          add_chunk(tiles, tile, lane, scores, target.row(layer, e + n), score[n][lane]);
          if (grad != nullptr) add_chunk(tiles, tile, lane, p, target.row(layer, e + n), product[n][lane]);
        }
      });
    }
  }
}

/// Item: a target.
template <typename T, int kVector>
struct Gatv2Forward {
  Gatv2<T> layer;
  const T* loop_features;
  T* scores;  // [rows, H].

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t i) const {
    const TargetEdges<T> target(layer, i);
    const EdgeNumbers<T> a{scores, layer.heads};
    gatv2_scores<kVector>(warp, layer, loop_features, target, static_cast<const T*>(nullptr), a, a);
    warp.sync();
    for (int64_t first = 0; first < layer.heads; first += kWarpLanes)
      softmax(warp, layer, target, PairLanes<T>(layer, first), a);
    warp.sync();
    sum_messages<kVector>(warp, layer, target, a);
  }
};

/// Item: a target. Writes the handoff and the gradients of z_target and edge_attr.
template <typename T, int kVector>
struct Gatv2Backward {
  Gatv2<T> layer;
  Gatv2Gradients<T> gradients;
  const T* loop_features;
  T* loop_gradients;  // [T, K].

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t i) const {
    const TargetEdges<T> target(layer, i);
    const EdgeNumbers<T> a{gradients.handoff, 2 * layer.heads};
    const EdgeNumbers<T> p{gradients.handoff + layer.heads, 2 * layer.heads};
    gatv2_scores<kVector>(warp, layer, loop_features, target,
                          gradients.out + i * layer.heads * layer.channels, a, p);
    warp.sync();
    for (int64_t first = 0; first < layer.heads; first += kWarpLanes) {
      const PairLanes<T> pairs(layer, first);
      warp.each([&](int lane) {
        pairs.over(lane, target.all, [&](int64_t e, int64_t h) {
          T& score = a(target.row(layer, e), h);
          const int64_t at = i * layer.heads + h;
          score = std::exp(score - layer.highest[at]) * layer.scale[at];
        });
      });
      score_gradients(warp, layer, gradients.alpha, target, pairs, a, p, static_cast<T*>(nullptr));
    }
    warp.sync();
    pass_to_rows(warp, target, p);
    if (gradients.edge_attr == nullptr || !layer.loops || layer.fill != LoopFill::mean) return;
    warp.sync();
    warp.each([&](int lane) {
      const int64_t features = layer.edge_features;
      for (int64_t n = lane; n < target.edges * features; n += kWarpLanes)
        gradients.edge_attr[layer.order.edge[target.first + n / features] * features + n % features] +=
            loop_gradients[i * features + n % features] / static_cast<T>(target.edges);
    });
  }

  // Passes the gradients of y to z_target and, summed over all columns, to features.
  template <typename Warp>
  PLIMSOLL_DEVICE void pass_to_rows(const Warp& warp, const TargetEdges<T>& target,
                                    const EdgeNumbers<T>& dl) const {
    const HeadTiles<kVector> tiles(layer.heads, layer.channels);
    const int64_t width = layer.heads * layer.channels;
    for (int tile = 0; tile < tiles.count(); ++tile) {
      PerLane<Warp, Pack<T, kVector>> total;
      for (int64_t e = 0; e < target.all; e += kEdgesAtOnce) {
        PerLane<Warp, Pack<T, kVector>> dy[kEdgesAtOnce];
        warp.each([&](int lane) {
          const int column = tiles.column(tile, lane);
          if (column < 0) return;
          const Pack<T, kVector> att = warp.template load<kVector>(layer.att + column);
          Pack<T, kVector> y[kEdgesAtOnce];
          EdgeRows<T>(layer, loop_features, target, e).y(warp, layer, column, y);
          for (int n = 0; n < kEdgesAtOnce; ++n) {
            if (e + n >= target.all) continue;
            differentiate(dl(target.row(layer, e + n), tiles.head(tile, lane)), att, layer.slope, y[n]);
            for (int v = 0; v < kVector; ++v) total[lane].at[v] += y[n].at[v];
            dy[n][lane] = y[n];
          }
        });
        if (gradients.edge_attr == nullptr) continue;
        for (int64_t k = 0; k < layer.edge_features; ++k) {
          PerLane<Warp, T> df[kEdgesAtOnce];
          warp.each([&](int lane) {
            const int column = tiles.column(tile, lane);
            if (column < 0) return;
            const Pack<T, kVector> w = warp.template load<kVector>(layer.edge_weight + k * width + column);
            for (int n = 0; n < kEdgesAtOnce; ++n)
              for (int v = 0; v < kVector; ++v) df[n][lane] += dy[n][lane].at[v] * w.at[v];
          });
          for (int n = 0; n < kEdgesAtOnce; ++n) warp.sum(df[n], 1, kWarpLanes);
          warp.each([&](int lane) {
            if (lane != 0) return;
            for (int n = 0; n < kEdgesAtOnce; ++n) {
              if (e + n >= target.all) continue;
              T& to = features_gradient(target, e + n, k);
              to = tile == 0 ? df[n][lane] : to + df[n][lane];
            }
          });
        }
      }
      warp.each([&](int lane) {
        const int column = tiles.column(tile, lane);
        if (column >= 0) warp.store(gradients.z_target + target.node * width + column, total[lane]);
      });
    }
  }

  PLIMSOLL_DEVICE T& features_gradient(const TargetEdges<T>& target, int64_t e, int64_t k) const {
    return e < target.edges
               ? gradients.edge_attr[layer.order.edge[target.first + e] * layer.edge_features + k]
               : loop_gradients[target.node * layer.edge_features + k];
  }
};

/// Item: a source. Writes the gradient of z, or adds to it if z_target has the same gradient.
template <typename T, int kVector>
struct Gatv2Gather {
  Gatv2<T> layer;
  Gatv2Gradients<T> gradients;
  const T* loop_features;
  OutEdges edges;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t j) const {
    const int64_t heads = layer.heads;
    const int64_t width = heads * layer.channels;
    const int64_t begin = edges.ptr[j];
    const int64_t end = edges.ptr[j + 1];
    const int64_t last = end + (layer.loops && j < layer.order.targets ? 1 : 0);
    const HeadTiles<kVector> tiles(heads, layer.channels);
    for (int tile = 0; tile < tiles.count(); ++tile) {
      warp.each([&](int lane) {
        const int column = tiles.column(tile, lane);
        if (column < 0) return;
        const Pack<T, kVector> att = warp.template load<kVector>(layer.att + column);
        T* const to = gradients.z + j * width + column;
        Pack<T, kVector> total;
        if (gradients.z == gradients.z_target && j < layer.order.targets)
          total = warp.template load<kVector>(to);
        for (int64_t first = begin; first < last; first += kEdgesAtOnce) {
          EdgeRows<T> rows;
          const T* from[kEdgesAtOnce];  // alpha and the gradient of the score.
          const T* grad[kEdgesAtOnce];
          for (int n = 0; n < kEdgesAtOnce; ++n) {
            const int64_t o = first + n < last ? first + n : last - 1;
            const TargetEdges<T> target(layer, o < end ? edges.target[o] : j);
            const int64_t e = o < end ? edges.position[o] - target.first : target.edges;
            rows.set(n, layer, loop_features, target, e);
            from[n] = gradients.handoff + target.row(layer, e) * 2 * heads + tiles.head(tile, lane);
            grad[n] = gradients.out + target.node * width + column;
          }
          Pack<T, kVector> y[kEdgesAtOnce];
          rows.y(warp, layer, column, y);
          for (int n = 0; n < kEdgesAtOnce; ++n) {
            if (first + n >= last) continue;
            differentiate(from[n][heads], att, layer.slope, y[n]);
            const Pack<T, kVector> g = warp.template load<kVector>(grad[n]);
            for (int v = 0; v < kVector; ++v) total.at[v] += from[n][0] * g.at[v] + y[n].at[v];
          }
        }
        warp.store(to, total);
      });
    }
  }
};

/// Item: (part of the targets, tile, block of kFeatures rows of the edge weights). Computes the part's sums
/// of the gradients of att and edge_weight, [parts, 1 + K, H*D].
template <typename T, int kVector>
struct Gatv2WeightSums {
  static constexpr int kFeatures = 12;

  Gatv2<T> layer;
  Gatv2Gradients<T> gradients;
  const T* loop_features;
  Parts parts;
  T* sums;

  static constexpr int64_t blocks(const Gatv2<T>& layer) {
    return layer.edge_features == 0 ? 1 : (layer.edge_features + kFeatures - 1) / kFeatures;
  }
  static constexpr int64_t items(const Gatv2<T>& layer, const Parts& parts) {
    return parts.count * blocks(layer) * HeadTiles<kVector>(layer.heads, layer.channels).count();
  }

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const HeadTiles<kVector> tiles(layer.heads, layer.channels);
    const int64_t first_feature = item % blocks(layer) * kFeatures;
    const auto tile = static_cast<int>(item / blocks(layer) % tiles.count());
    const int64_t part = item / blocks(layer) / tiles.count();
    const int64_t width = layer.heads * layer.channels;
    const EdgeNumbers<T> dl{gradients.handoff + layer.heads, 2 * layer.heads};
    warp.each([&](int lane) {
      const int column = tiles.column(tile, lane);
      if (column < 0) return;
      const Pack<T, kVector> att = warp.template load<kVector>(layer.att + column);
      Pack<T, kVector> datt;
      Pack<T, kVector> dweight[kFeatures];
      for (int64_t i = parts.begin(part); i < parts.begin(part + 1); ++i) {
        const TargetEdges<T> target(layer, i);
        for (int64_t e = 0; e < target.all; e += kEdgesAtOnce) {
          const EdgeRows<T> rows(layer, loop_features, target, e);
          Pack<T, kVector> y[kEdgesAtOnce];
          rows.y(warp, layer, column, y);
          for (int n = 0; n < kEdgesAtOnce; ++n) {
            if (e + n >= target.all) continue;
            const T d = dl(target.row(layer, e + n), tiles.head(tile, lane));
            for (int v = 0; v < kVector; ++v) datt.at[v] += d * leaky(y[n].at[v], layer.slope);
            differentiate(d, att, layer.slope, y[n]);
            for (int k = 0; k < kFeatures; ++k) {
              if (first_feature + k >= layer.edge_features) continue;
              const T f = rows.features[n][first_feature + k];
              for (int v = 0; v < kVector; ++v) dweight[k].at[v] += f * y[n].at[v];
            }
          }
        }
      }
      T* const to = sums + part * width * (layer.edge_features + 1) + column;
      for (int v = 0; v < kVector; ++v) {
        if (first_feature == 0) to[v] = datt.at[v];
        for (int k = 0; k < kFeatures; ++k)
          if (first_feature + k < layer.edge_features)
            to[(1 + first_feature + k) * width + v] = dweight[k].at[v];
      }
    });
  }
};

// Runs the kernels in order.

template <typename T, typename Launch>
void run_gatv2_forward(const Gatv2<T>& layer, T* workspace, const Launch& launch) {
  T* const loop_features = workspace + attention_rows(layer) * layer.heads;
  if (layer.loops && layer.edge_features > 0)
    launch(layer.order.targets, LoopFeatures<T>{layer, loop_features});
  with_vectors<T>(layer.channels,
                  {layer.z, layer.z_target, layer.edge_weight, layer.att, layer.bias, layer.out},
                  [&](auto vectors) {
                    launch(layer.order.targets,
                           Gatv2Forward<T, decltype(vectors)::kVector>{layer, loop_features, workspace});
                  });
}

template <typename T, typename Launch>
void run_gatv2_backward(const Gatv2<T>& layer, Gatv2Gradients<T> gradients, const OutEdges& edges,
                        T* workspace, const Launch& launch) {
  const EdgeOrder& order = layer.order;
  const int64_t width = layer.heads * layer.channels;
  gradients.handoff = workspace;
  T* const loop_features = workspace + attention_rows(layer) * 2 * layer.heads;
  T* const loop_gradients = loop_features + order.targets * layer.edge_features;
  T* const sums = loop_gradients + order.targets * layer.edge_features;
  if (layer.loops && layer.edge_features > 0) launch(order.targets, LoopFeatures<T>{layer, loop_features});
  const int64_t numbers = width * (layer.edge_features + 1);
  const Parts parts(order.targets, numbers);
  with_vectors<T>(
      layer.channels,
      {layer.z, layer.z_target, layer.edge_weight, layer.att, gradients.out, gradients.z, gradients.z_target},
      [&](auto vectors) {
        constexpr int kVector = decltype(vectors)::kVector;
        launch(order.targets, Gatv2Backward<T, kVector>{layer, gradients, loop_features, loop_gradients});
        launch(order.sources, Gatv2Gather<T, kVector>{layer, gradients, loop_features, edges});
        using Sums = Gatv2WeightSums<T, kVector>;
        launch(Sums::items(layer, parts), Sums{layer, gradients, loop_features, parts, sums});
      });
  launch(width, AddParts<T>{sums, parts.count, numbers, gradients.att});
  if (layer.edge_features > 0)
    launch(width * layer.edge_features,
           AddParts<T>{sums + width, parts.count, numbers, gradients.edge_weight});
  sum_columns<T>(gradients.out, nullptr, order.targets, layer.heads, layer.channels, sums, gradients.bias,
                 launch);
}

}  // namespace plimsoll

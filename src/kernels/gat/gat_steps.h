#pragma once

// The CUDA kernels of graph attention as steps (warp.h), and the order in which they run. Formulas: gat.h.

#include "kernels/attention/attention_gpu.h"
#include "kernels/attention/attention_steps.h"
#include "kernels/sums_steps.h"

namespace plimsoll {

/// Calls use(lane, e, head, logit) for all pairs of a target and some heads.
template <typename Warp, typename T, typename Use>
PLIMSOLL_DEVICE void gat_logits(const Warp& warp, const Gat<T>& layer, const TargetEdges<T>& target,
                                const PairLanes<T>& pairs, Use use) {
  const int64_t heads = layer.heads;
  const auto nodes = [&](int64_t e, int64_t h) {
    return layer.s[target.source(layer, e) * heads + h] + layer.t[target.node * heads + h];
  };
  PerLane<Warp, T> sum(T(0));  // The part of the logits that comes from edge features.
  warp.each([&](int lane) {
    pairs.over(lane, target.edges, [&](int64_t e, int64_t h) {
      const T* const f = layer.edge_attr + layer.order.edge[target.first + e] * layer.edge_features;
      T mine(0);
      for (int64_t k = 0; k < layer.edge_features; ++k) mine += f[k] * layer.q[k * heads + h];
      sum[lane] += mine;
      use(lane, e, h, mine + nodes(e, h));
    });
  });
  if (!layer.loops) return;
  if (layer.fill == LoopFill::mean) warp.sum(sum, pairs.lanes.width, kWarpLanes);
  warp.each([&](int lane) {
    if (!pairs.has(lane, target.edges)) return;
    const int64_t h = pairs.head(lane);
    T mine(0);
    if (layer.fill == LoopFill::mean && target.edges > 0) mine = sum[lane] / static_cast<T>(target.edges);
    if (layer.fill == LoopFill::value)
      for (int64_t k = 0; k < layer.edge_features; ++k) mine += layer.fill_value * layer.q[k * heads + h];
    use(lane, target.edges, h, mine + nodes(target.edges, h));
  });
}

/// Item: a target.
template <typename T, int kVector>
struct GatForward {
  Gat<T> layer;
  T* scores;  // [rows, H].

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t i) const {
    const TargetEdges<T> target(layer, i);
    const EdgeNumbers<T> a{scores, layer.heads};
    for (int64_t first = 0; first < layer.heads; first += kWarpLanes) {
      const PairLanes<T> pairs(layer, first);
      gat_logits(warp, layer, target, pairs, [&](int, int64_t e, int64_t h, T logit) {
        a(target.row(layer, e), h) = leaky(logit, layer.slope);
      });
      softmax(warp, layer, target, pairs, a);
    }
    warp.sync();
    sum_messages<kVector>(warp, layer, target, a);
  }
};

/// Item: a target. Writes the handoff and the gradients of t and edge_attr.
template <typename T, int kVector>
struct GatBackward {
  Gat<T> layer;
  GatGradients<T> gradients;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t i) const {
    const TargetEdges<T> target(layer, i);
    const EdgeNumbers<T> a{gradients.handoff, 2 * layer.heads};
    const EdgeNumbers<T> p{gradients.handoff + layer.heads, 2 * layer.heads};
    alpha_gradients(warp, target, p);
    warp.sync();
    for (int64_t first = 0; first < layer.heads; first += kWarpLanes) {
      const PairLanes<T> pairs(layer, first);
      gat_logits(warp, layer, target, pairs, [&](int, int64_t e, int64_t h, T logit) {
        const int64_t at = target.node * layer.heads + h;
        const T alpha = std::exp(leaky(logit, layer.slope) - layer.highest[at]) * layer.scale[at];
        a(target.row(layer, e), h) = logit > T(0) ? alpha : -alpha;
      });
      score_gradients(warp, layer, gradients.alpha, target, pairs, a, p, gradients.t);
    }
    if (gradients.edge_attr == nullptr) return;
    warp.sync();
    warp.each([&](int lane) { pass_to_features(lane, target, p); });
  }

  // Computes p = <grad_i, z_j> by head.
  template <typename Warp>
  PLIMSOLL_DEVICE void alpha_gradients(const Warp& warp, const TargetEdges<T>& target,
                                       const EdgeNumbers<T>& p) const {
    constexpr int kTiles = kTilesAtOnce<kVector>;
    const HeadTiles<kVector> tiles(layer.heads, layer.channels);
    const int64_t width = layer.heads * layer.channels;
    for (int first = 0; first < tiles.count(); first += kTiles) {
      for (int64_t e = 0; e < target.all; ++e) {
        const T* const z = layer.z + target.source(layer, e) * width;
        const T* const grad = gradients.out + target.node * width;
        PerLane<Warp, T> sum[kTiles];
        warp.each([&](int lane) {
          const LaneTiles<kVector> mine(tiles, first, lane);
          for (int r = 0; r < kTiles; ++r) {
            if (mine.column[r] < 0) continue;
            const Pack<T, kVector> from = warp.template load<kVector>(z + mine.column[r]);
            const Pack<T, kVector> g = warp.template load<kVector>(grad + mine.column[r]);
            for (int v = 0; v < kVector; ++v) sum[r][lane] += g.at[v] * from.at[v];
          }
        });
        for (int r = 0; r < kTiles; ++r) warp.sum(sum[r], 1, tiles.lanes);
        warp.each([&](int lane) {
          for (int r = 0; r < kTiles; ++r)
            if (tiles.leads(first + r, lane))
              add_chunk(tiles, first + r, lane, p, target.row(layer, e), sum[r][lane]);
        });
      }
    }
  }

  // Computes df[k] = sum over heads of q[k,h] times the gradient of the logit, including the part that comes
  // through the self-loop's mean.
  PLIMSOLL_DEVICE void pass_to_features(int lane, const TargetEdges<T>& target,
                                        const EdgeNumbers<T>& dl) const {
    const int64_t features = layer.edge_features;
    const bool mean = layer.loops && layer.fill == LoopFill::mean;
    for (int64_t n = lane; n < target.edges * features; n += kWarpLanes) {
      const int64_t e = n / features;
      const int64_t k = n % features;
      T sum(0);
      for (int64_t h = 0; h < layer.heads; ++h) {
        T mine = dl(target.first + e, h);
        if (mean) mine += dl(target.row(layer, target.edges), h) / static_cast<T>(target.edges);
        sum += layer.q[k * layer.heads + h] * mine;
      }
      gradients.edge_attr[layer.order.edge[target.first + e] * features + k] = sum;
    }
  }
};

/// Item: a source. Writes the gradients of s and z. The gradient of z includes the parts through both scores.
template <typename T, int kVector>
struct GatGather {
  Gat<T> layer;
  GatGradients<T> gradients;
  GatScores<T> scores;
  OutEdges edges;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t j) const {
    const int64_t heads = layer.heads;
    const int64_t begin = edges.ptr[j];
    const int64_t end = edges.ptr[j + 1];
    const int64_t all = end - begin + (layer.loops && j < layer.order.targets ? 1 : 0);
    const auto row = [&](int64_t o) {
      return begin + o < end ? edges.position[begin + o] : layer.order.edges + j;
    };
    for (int64_t first = 0; first < heads; first += kWarpLanes) {
      const PairLanes<T> pairs(layer, first);
      PerLane<Warp, T> sum(T(0));
      warp.each([&](int lane) {
        pairs.over(lane, all, [&](int64_t o, int64_t h) {
          sum[lane] += gradients.handoff[row(o) * 2 * heads + heads + h];
        });
      });
      warp.sum(sum, pairs.lanes.width, kWarpLanes);
      warp.each([&](int lane) {
        if (pairs.leads(lane)) gradients.s[j * heads + pairs.head(lane)] = sum[lane];
      });
    }
    warp.sync();
    constexpr int kTiles = kTilesAtOnce<kVector>;
    const HeadTiles<kVector> tiles(heads, layer.channels);
    const int64_t width = heads * layer.channels;
    for (int first = 0; first < tiles.count(); first += kTiles) {
      warp.each([&](int lane) {
        const LaneTiles<kVector> mine(tiles, first, lane);
        Pack<T, kVector> sum[kTiles];
        for (int64_t o = 0; o < all; ++o) {
          const T* const alpha = gradients.handoff + row(o) * 2 * heads;
          const T* const grad = gradients.out + (begin + o < end ? edges.target[begin + o] : j) * width;
          for (int r = 0; r < kTiles; ++r)
            if (mine.column[r] >= 0) add_row(warp, alpha[mine.head[r]], grad + mine.column[r], sum[r]);
        }
        for (int r = 0; r < kTiles; ++r) {
          if (mine.column[r] < 0) continue;
          const int64_t at = j * heads + mine.head[r];
          add_row(warp, gradients.s[at], scores.att_source + mine.column[r], sum[r]);
          if (scores.att_target != nullptr)
            add_row(warp, gradients.t[at], scores.att_target + mine.column[r], sum[r]);
          warp.store(gradients.z + j * width + mine.column[r], sum[r]);
        }
      });
    }
  }

  /// Computes to += factor * row.
  template <typename Warp>
  static PLIMSOLL_DEVICE void add_row(const Warp& warp, T factor, const T* row, Pack<T, kVector>& to) {
    const Pack<T, kVector> from = warp.template load<kVector>(row);
    for (int v = 0; v < kVector; ++v) to.at[v] += factor * from.at[v];
  }
};

/// Item: (part of the targets, 32 numbers of q). Computes the part's sums of q's gradient, [parts, K*H].
template <typename T>
struct GatFeatureSums {
  Gat<T> layer;
  GatGradients<T> gradients;
  Parts parts;
  T* sums;

  static constexpr int64_t blocks(const Gat<T>& layer) {
    return (layer.edge_features * layer.heads + kWarpLanes - 1) / kWarpLanes;
  }

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    const int64_t heads = layer.heads;
    const int64_t features = layer.edge_features;
    const int64_t part = item / blocks(layer);
    warp.each([&](int lane) {
      const int64_t n = item % blocks(layer) * kWarpLanes + lane;
      if (n >= features * heads) return;
      const int64_t k = n / heads;
      const int64_t h = n % heads;
      T sum(0);
      for (int64_t i = parts.begin(part); i < parts.begin(part + 1); ++i) {
        const TargetEdges<T> target(layer, i);
        const auto dl = [&](int64_t e) {
          return gradients.handoff[target.row(layer, e) * 2 * heads + heads + h];
        };
        T share(0);  // The share of an edge in the gradient of the self-loop's mean.
        if (layer.loops && layer.fill == LoopFill::mean && target.edges > 0)
          share = dl(target.edges) / static_cast<T>(target.edges);
        if (layer.loops && layer.fill == LoopFill::value) sum += layer.fill_value * dl(target.edges);
        for (int64_t e = 0; e < target.edges; ++e)
          sum += layer.edge_attr[layer.order.edge[target.first + e] * features + k] * (dl(e) + share);
      }
      sums[part * features * heads + n] = sum;
    });
  }
};

/// Item: a node. Computes s = <z, att_source>, and t = <z, att_target> if there is an att_target.
template <typename T, int kVector>
struct GatScoresStep {
  const T* z;
  GatScores<T> scores;
  int64_t heads, channels;
  T* s;
  T* t;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t i) const {
    const HeadTiles<kVector> tiles(heads, channels);
    for (int tile = 0; tile < tiles.count(); ++tile) {
      PerLane<Warp, T> source(T(0));
      PerLane<Warp, T> target(T(0));
      warp.each([&](int lane) {
        const int column = tiles.column(tile, lane);
        if (column < 0) return;
        const Pack<T, kVector> row = warp.template load<kVector>(z + i * heads * channels + column);
        for (int v = 0; v < kVector; ++v) {
          source[lane] += row.at[v] * scores.att_source[column + v];
          if (t != nullptr) target[lane] += row.at[v] * scores.att_target[column + v];
        }
      });
      warp.sum(source, 1, tiles.lanes);
      warp.sum(target, 1, tiles.lanes);
      warp.each([&](int lane) {
        if (!tiles.leads(tile, lane)) return;
        add_chunk(tiles, tile, lane, EdgeNumbers<T>{s, heads}, i, source[lane]);
        if (t != nullptr) add_chunk(tiles, tile, lane, EdgeNumbers<T>{t, heads}, i, target[lane]);
      });
    }
  }
};

// Runs the kernels in order. Launch puts a step on a stream, or runs it on the host.

template <typename T, typename Launch>
void run_gat_scores(const T* z, const GatScores<T>& scores, int64_t heads, int64_t channels, int64_t nodes,
                    T* s, T* t, const Launch& launch) {
  with_vectors<T>(channels, {z}, [&](auto vectors) {
    launch(nodes, GatScoresStep<T, decltype(vectors)::kVector>{z, scores, heads, channels, s, t});
  });
}

template <typename T, typename Launch>
void run_gat_forward(const Gat<T>& layer, T* workspace, const Launch& launch) {
  with_vectors<T>(layer.channels, {layer.z, layer.bias, layer.out}, [&](auto vectors) {
    launch(layer.order.targets, GatForward<T, decltype(vectors)::kVector>{layer, workspace});
  });
}

template <typename T, typename Launch>
void run_gat_backward(const Gat<T>& layer, GatGradients<T> gradients, const GatScores<T>& scores,
                      const OutEdges& edges, T* workspace, const Launch& launch) {
  const EdgeOrder& order = layer.order;
  gradients.handoff = workspace;
  T* const sums = workspace + attention_rows(layer) * 2 * layer.heads;
  with_vectors<T>(layer.channels, {layer.z, gradients.out, gradients.z, scores.att_source, scores.att_target},
                  [&](auto vectors) {
                    constexpr int kVector = decltype(vectors)::kVector;
                    launch(order.targets, GatBackward<T, kVector>{layer, gradients});
                    launch(order.sources, GatGather<T, kVector>{layer, gradients, scores, edges});
                  });
  if (layer.edge_features > 0) {
    const int64_t numbers = layer.edge_features * layer.heads;
    const Parts parts(order.targets, numbers);
    launch(parts.count * GatFeatureSums<T>::blocks(layer), GatFeatureSums<T>{layer, gradients, parts, sums});
    launch(numbers, AddParts<T>{sums, parts.count, numbers, gradients.q});
  }
  sum_columns<T>(gradients.out, nullptr, order.targets, layer.heads, layer.channels, sums, gradients.bias,
                 launch);
  sum_columns<T>(layer.z, gradients.s, order.sources, layer.heads, layer.channels, sums,
                 scores.source_gradient, launch);
  sum_columns<T>(layer.z, gradients.t, order.targets, layer.heads, layer.channels, sums,
                 scores.att_target == nullptr ? nullptr : scores.target_gradient, launch);
}

}  // namespace plimsoll

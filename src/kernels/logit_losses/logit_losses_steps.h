#pragma once

// The CUDA kernels of logit_losses_gpu.h as steps (warp.h). Formulas: logit_losses.h.

#include <cmath>
#include <limits>

#include "kernels/logit_losses/logit_losses_gpu.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Item: a row. The lanes divide its classes among themselves.
template <typename T>
struct CrossEntropyRow {
  LogitTile<T> tile;
  const int64_t* target;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t r) const {
    T* const row = tile.logits + r * tile.classes;
    const int64_t right = target[r];
    const bool known = right >= 0 && right < tile.classes;
    const T logit = known ? row[right] + tile.bias[right] : std::numeric_limits<T>::quiet_NaN();
    PerLane<Warp, T> highest(-std::numeric_limits<T>::infinity());
    warp.each([&](int lane) {
      for (int64_t c = lane; c < tile.classes; c += kWarpLanes) {
        const T z = row[c] + tile.bias[c];
        highest[lane] = z > highest[lane] ? z : highest[lane];
      }
    });
    warp.highest(highest, 1, kWarpLanes);
    PerLane<Warp, T> total(T(0));
    warp.each([&](int lane) {
      for (int64_t c = lane; c < tile.classes; c += kWarpLanes)
        total[lane] += std::exp(row[c] + tile.bias[c] - highest[lane]);
    });
    warp.sum(total, 1, kWarpLanes);
    warp.sync();  // All lanes have read the logit of the target class.
    warp.each([&](int lane) {
      if (lane == 0) tile.losses[r] = std::log(total[lane]) + (highest[lane] - logit);
      if (!tile.gradients) return;
      const T grad = tile.grad == nullptr ? T(1) : tile.grad[r];
      for (int64_t c = lane; c < tile.classes; c += kWarpLanes) {
        const T share = std::exp(row[c] + tile.bias[c] - highest[lane]) / total[lane];
        row[c] = grad * (c == right ? share - T(1) : share);
      }
    });
  }
};

/// Item: a row. The lanes divide among themselves first all classes, then the listed ones.
template <typename T>
struct MultilabelBceRow {
  LogitTile<T> tile;
  const int64_t* ptr;
  const int64_t* ids;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t r) const {
    T* const row = tile.logits + r * tile.classes;
    PerLane<Warp, T> total(T(0));
    warp.each([&](int lane) {
      for (int64_t c = lane; c < tile.classes; c += kWarpLanes) {
        const T z = row[c] + tile.bias[c];
        total[lane] += (z > T(0) ? z : T(0)) + std::log1p(std::exp(z > T(0) ? -z : z));
      }
      for (int64_t k = ptr[r] + lane; k < ptr[r + 1]; k += kWarpLanes)
        total[lane] -= known(ids[k]) ? row[ids[k]] + tile.bias[ids[k]] : std::numeric_limits<T>::quiet_NaN();
    });
    warp.sum(total, 1, kWarpLanes);
    warp.sync();  // All lanes have read the logits that other lanes overwrite.
    const T grad = (tile.grad == nullptr ? T(1) : tile.grad[r]) / static_cast<T>(tile.classes);
    warp.each([&](int lane) {
      if (lane == 0) tile.losses[r] = total[lane] / static_cast<T>(tile.classes);
      if (!tile.gradients) return;
      for (int64_t c = lane; c < tile.classes; c += kWarpLanes)
        row[c] = grad / (T(1) + std::exp(-(row[c] + tile.bias[c])));
    });
    warp.sync();
    warp.each([&](int lane) {
      if (!tile.gradients) return;
      for (int64_t k = ptr[r] + lane; k < ptr[r + 1]; k += kWarpLanes)
        if (known(ids[k])) row[ids[k]] -= grad;
    });
  }
  PLIMSOLL_DEVICE bool known(int64_t c) const { return c >= 0 && c < tile.classes; }
};

}  // namespace plimsoll

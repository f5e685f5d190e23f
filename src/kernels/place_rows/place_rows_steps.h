#pragma once

// The CUDA kernel of place_rows_gpu.h as a step (warp.h).

#include "kernels/place_rows/place_rows_gpu.h"
#include "kernels/warp.h"

namespace plimsoll {

/// Item: a row. Lanes load as much as they can at once, because loads over the bus have a high latency.
template <int kNumbers>
struct PlaceRows {
  PlacedRows placed;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t row) const {
    const int64_t place = placed.places[row];
    const float* const from =
        place >= 0 ? placed.kept + place * placed.features : placed.coming + (-1 - place) * placed.features;
    float* const to = placed.out + row * placed.features;
    warp.each([&](int lane) {
      for (int64_t c = lane * kNumbers; c < placed.features; c += kWarpLanes * kNumbers)
        warp.store(to + c, warp.template load<kNumbers>(from + c));
    });
  }
};

template <typename Launch>
void run_place_rows(const PlacedRows& rows, const Launch& launch) {
  constexpr int kAtOnce = 4;
  if (rows.features % kAtOnce == 0)
    launch(rows.rows, PlaceRows<kAtOnce>{rows});
  else
    launch(rows.rows, PlaceRows<1>{rows});
}

}  // namespace plimsoll

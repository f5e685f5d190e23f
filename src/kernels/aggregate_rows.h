#pragma once

// The kernel of aggregate.h, compiled once a level (levels.h).

#include "kernels/aggregate.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <typename T, int kLanes>
struct AggregateRows {
  template <int kWidth>
  static PLIMSOLL_INLINE void columns(const T* x, const int32_t* index, int64_t count, const T* entry_scale,
                                      T row_scale, int64_t features, T* out) {
    using L = Lanes<T, kWidth>;
    typename L::Vec sum{};
    for (int64_t p = 0; p < count; ++p) {
      const typename L::Vec value = L::load(x + index[p] * features);
      if (entry_scale == nullptr) {
        sum = sum + value;
      } else {
        sum = sum + value * L::all(entry_scale[index[p]]);
      }
    }
    L::store(out, sum * L::all(row_scale));
  }

  static void run(const T* x, const int32_t* ptr, const int32_t* index, const T* entry_scale,
                  const T* row_scale, int64_t features, int64_t begin, int64_t end, T* out) {
    for (int64_t r = begin; r < end; ++r) {
      const int32_t* const first = index + ptr[r];
      const int64_t count = ptr[r + 1] - ptr[r];
      const T scale = row_scale == nullptr ? T(1) : row_scale[r];
      int64_t c = 0;
      for (; c + 4 * kLanes <= features; c += 4 * kLanes)
        columns<4 * kLanes>(x + c, first, count, entry_scale, scale, features, out + r * features + c);
      for (; c + kLanes <= features; c += kLanes)
        columns<kLanes>(x + c, first, count, entry_scale, scale, features, out + r * features + c);
      for (; c < features; ++c)
        columns<1>(x + c, first, count, entry_scale, scale, features, out + r * features + c);
    }
  }
};

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const Aggregate<float> aggregate_f32 = AggregateRows<float, PLIMSOLL_VECTOR_BYTES / 4>::run;
extern const Aggregate<double> aggregate_f64 = AggregateRows<double, PLIMSOLL_VECTOR_BYTES / 8>::run;
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll

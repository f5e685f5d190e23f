#pragma once

// The kernel of aggregate.h, compiled once for each level (levels.h).

#include "kernels/aggregate/aggregate.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <typename T, int kLanes>
struct AggregateRows {
  // scale_of(p) is the scale of entry p.
  template <int kWidth, typename ScaleOf>
  static PLIMSOLL_INLINE void add(const AggregateInput<T>& in, int64_t r, int64_t column,
                                  const ScaleOf& scale_of, T* out) {
    using L = Lanes<T, kWidth>;
    typename L::Vec sum{};
    for (int64_t p = in.ptr[r]; p < in.ptr[r + 1]; ++p)
      sum = sum + L::load(in.x + in.index[p] * in.features + column) * L::all(scale_of(p));
    sum = sum * L::all(in.row_scale == nullptr ? T(1) : in.row_scale[r]);
    if (in.base != nullptr) sum += L::load(in.base + r * in.features + column) * L::all(in.base_scale);
    if (in.bias != nullptr) sum += L::load(in.bias + column);
    L::store(out + r * in.features + column, sum);
  }

  template <typename ScaleOf>
  static PLIMSOLL_INLINE void add_rows(const AggregateInput<T>& in, int64_t begin, int64_t end,
                                       const ScaleOf& scale_of, T* out) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t c = 0;
      for (; c + 4 * kLanes <= in.features; c += 4 * kLanes) add<4 * kLanes>(in, r, c, scale_of, out);
      for (; c + kLanes <= in.features; c += kLanes) add<kLanes>(in, r, c, scale_of, out);
      for (; c < in.features; ++c) add<1>(in, r, c, scale_of, out);
    }
  }

  static void run(const AggregateInput<T>& in, int64_t begin, int64_t end, T* out) {
    // A product with 1 is exact, so the result is the same without it.
    if (in.edge_scale != nullptr && in.entry_scale != nullptr)
      add_rows(
          in, begin, end, [&](int64_t p) { return in.edge_scale[in.edge[p]] * in.entry_scale[in.index[p]]; },
          out);
    else if (in.edge_scale != nullptr)
      add_rows(
          in, begin, end, [&](int64_t p) { return in.edge_scale[in.edge[p]]; }, out);
    else if (in.entry_scale != nullptr)
      add_rows(
          in, begin, end, [&](int64_t p) { return in.entry_scale[in.index[p]]; }, out);
    else
      add_rows(
          in, begin, end, [](int64_t) { return T(1); }, out);
  }
};

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const Aggregate<float> aggregate_f32 = AggregateRows<float, PLIMSOLL_VECTOR_BYTES / 4>::run;
extern const Aggregate<double> aggregate_f64 = AggregateRows<double, PLIMSOLL_VECTOR_BYTES / 8>::run;
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll

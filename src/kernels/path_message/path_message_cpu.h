#pragma once

// The kernels of path_message.h, compiled once for each level (levels.h).

#include "kernels/path_message/path_message.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

template <typename T, int kLanes>
struct PathRows {
  using L = Lanes<T, kLanes>;
  using Vec = typename L::Vec;

  static void spread(const PathBasis<T>& basis, const T* distance, const T* angle, const T* torsion,
                     const T* cosine, int64_t rows, int64_t step, T* out) {
    const T* slope = basis.slope;
    const T* offset = basis.offset;
    // Rows are processed in vectors. The last vector overlaps the previous one, so that it does not extend
    // beyond the rows.
    const auto column = [&](const T* value, const T* beside) {
      const auto work = [&](auto lanes, int64_t r) __attribute__((always_inline)) {
        const auto centre =
            beside == nullptr ? lanes.all(*offset) : lanes.load(beside + r) * lanes.all(*offset);
        const auto off = lanes.load(value + r) * lanes.all(*slope) - centre;
        lanes.store(out + r, exp_of_negative(lanes, -(off * off)));
      };
      int64_t r = 0;
      for (; r + kLanes <= rows; r += kLanes) work(L(), r);
      if (r < rows && rows >= kLanes)
        work(L(), rows - kLanes);
      else
        for (; r < rows; ++r) work(Lanes<T, 1>(), r);
      ++slope;
      ++offset;
      out += step;
    };
    for (int64_t c = 0; c < basis.distances; ++c) column(distance, nullptr);
    if (angle == nullptr) return;
    for (int64_t c = 0; c < basis.angles; ++c) column(angle, nullptr);
    if (torsion == nullptr) return;
    for (int64_t c = 0; c < basis.torsions; ++c) column(torsion, cosine);
  }

  static void gather(const T* a, int64_t step_a, const int32_t* at_a, const T* b, int64_t step_b,
                     const int32_t* at_b, const T* c, const int32_t* at_c, int64_t rows, int64_t width,
                     bool relu, T* out) {
    for (int64_t r = 0; r < rows; ++r, out += width) {
      const T* const first = a + at_a[r] * step_a;
      const T* const second = b + at_b[r] * step_b;
      const T* const third = c == nullptr ? nullptr : c + at_c[r] * width;
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            auto sum = lanes.load(first + i) + lanes.load(second + i);
            if (third != nullptr) sum += lanes.load(third + i);
            lanes.store(out + i, relu ? positive(lanes, sum) : sum);
          });
    }
  }

  static void scatter(const T* in, int64_t rows, int64_t width, const int32_t* at, int64_t step, T* out) {
    for (int64_t r = 0; r < rows; ++r, in += width) add(in, width, out + at[r] * step);
  }

  static void add_columns(const T* in, int64_t rows, int64_t width, T* sum) {
    for (int64_t r = 0; r < rows; ++r, in += width) add(in, width, sum);
  }

  static void mask(T* gradient, const T* value, int64_t rows, int64_t width, T* sum) {
    for (int64_t r = 0; r < rows; ++r, gradient += width, value += width)
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            const auto kept = where_positive(lanes, lanes.load(value + i), lanes.load(gradient + i));
            lanes.store(gradient + i, kept);
            lanes.store(sum + i, lanes.load(sum + i) + kept);
          });
  }

  static void mask_rows(const T* from, const int32_t* at, T* value, int64_t rows, int64_t width, T* sum) {
    for (int64_t r = 0; r < rows; ++r, value += width) {
      const T* const row = from + at[r] * width;
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            const auto kept = where_positive(lanes, lanes.load(value + i), lanes.load(row + i));
            lanes.store(value + i, kept);
            lanes.store(sum + i, lanes.load(sum + i) + kept);
          });
    }
  }

  static void mask_and_scatter(T* gradient, const T* value, int64_t rows, int64_t width, T* a,
                               const int32_t* at_a, T* b, const int32_t* at_b, int64_t step) {
    for (int64_t r = 0; r < rows; ++r, gradient += width, value += width) {
      T* const first = a + at_a[r] * width;
      T* const second = b + at_b[r] * step;
      columns(
          width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
            const auto kept = where_positive(lanes, lanes.load(value + i), lanes.load(gradient + i));
            lanes.store(gradient + i, kept);
            lanes.store(first + i, lanes.load(first + i) + kept);
            lanes.store(second + i, lanes.load(second + i) + kept);
          });
    }
  }

 private:
  template <typename Work>
  static PLIMSOLL_INLINE void columns(int64_t width, const Work& work) {
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) work(L(), i);
    for (; i < width; ++i) work(Lanes<T, 1>(), i);
  }
  // Computes relu as torch does, and its gradient, NaN included.
  template <typename Any>
  static PLIMSOLL_INLINE auto positive(Any lanes, typename Any::Vec value) {
    return value <= lanes.all(0) ? lanes.all(0) : value;
  }
  template <typename Any>
  static PLIMSOLL_INLINE auto where_positive(Any lanes, typename Any::Vec value, typename Any::Vec kept) {
    return value <= lanes.all(0) ? lanes.all(0) : kept;
  }
  static PLIMSOLL_INLINE void add(const T* in, int64_t width, T* out) {
    columns(
        width, [&](auto lanes, int64_t i) __attribute__((always_inline)) {
          lanes.store(out + i, lanes.load(out + i) + lanes.load(in + i));
        });
  }
};

template <typename T, int kBytes>
constexpr PathKernels<T> make_path_kernels() {
  using Rows = PathRows<T, kBytes / static_cast<int>(sizeof(T))>;
  return {Rows::spread, Rows::gather,    Rows::scatter,         Rows::add_columns,
          Rows::mask,   Rows::mask_rows, Rows::mask_and_scatter};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const PathKernels<float> path_message_f32 = make_path_kernels<float, PLIMSOLL_VECTOR_BYTES>();
extern const PathKernels<double> path_message_f64 = make_path_kernels<double, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll

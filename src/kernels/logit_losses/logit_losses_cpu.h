#pragma once

// The kernels of logit_losses.h, compiled once for each level (levels.h).

#include "kernels/logit_losses/logit_losses.h"
#include "kernels/simd.h"

namespace plimsoll {
namespace {

/// Returns log(1 + e) for e in [0, 1], to 2 units in the last place: 2 artanh(s) with s = e / (2 + e), at
/// most 1/3, by its series.
template <int kLanes>
PLIMSOLL_INLINE typename Lanes<float, kLanes>::Vec log_of_one_and(const Lanes<float, kLanes>&,
                                                                  typename Lanes<float, kLanes>::Vec e) {
  const auto s = e / (e + 2.0F);
  const auto q = s * s;
  auto p = q * (1.0F / 13) + 1.0F / 11;
  p = p * q + 1.0F / 9;
  p = p * q + 1.0F / 7;
  p = p * q + 1.0F / 5;
  p = p * q + 1.0F / 3;
  p = p * q + 1.0F;
  return (s + s) * p;
}

/// float64 calls the C library.
template <int kLanes>
PLIMSOLL_INLINE typename Lanes<double, kLanes>::Vec log_of_one_and(const Lanes<double, kLanes>&,
                                                                   typename Lanes<double, kLanes>::Vec e) {
  if constexpr (kLanes == 1) {
    return ::log1p(e);
  } else {
    for (int i = 0; i < kLanes; ++i) e[i] = ::log1p(e[i]);
    return e;
  }
}

/// Calls work(lanes, c) for all columns, whole vectors first.
template <typename T, int kLanes, typename Work>
PLIMSOLL_INLINE void over_columns(int64_t classes, const Work& work) {
  int64_t c = 0;
  for (; c + kLanes <= classes; c += kLanes) work(Lanes<T, kLanes>(), c);
  for (; c < classes; ++c) work(Lanes<T, 1>(), c);
}

/// Accumulates a sum of whole vectors and single numbers.
template <typename T, int kLanes>
struct Sum {
  typename Lanes<T, kLanes>::Vec wide = {};
  T single = 0;

  PLIMSOLL_INLINE void add(typename Lanes<T, kLanes>::Vec value) { wide += value; }
  PLIMSOLL_INLINE void add_single(T value) { single += value; }
  PLIMSOLL_INLINE T total() const { return Lanes<T, kLanes>::sum(wide) + single; }
};

template <typename T, int kLanes>
struct LogitLossRows {
  using Wide = Lanes<T, kLanes>;
  using Total = Sum<T, kLanes>;

  template <typename L>
  static PLIMSOLL_INLINE void add(Total& total, const L&, typename L::Vec value) {
    if constexpr (sizeof(typename L::Vec) == sizeof(T))
      total.add_single(value);
    else
      total.add(value);
  }

  static PLIMSOLL_INLINE T max(const T* row, const T* bias, int64_t classes) {
    auto wide = Wide::all(row[0] + bias[0]);
    T highest = row[0] + bias[0];
    over_columns<T, kLanes>(
        classes, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
          const auto logit = lanes.load(row + c) + lanes.load(bias + c);
          if constexpr (sizeof(logit) == sizeof(T))
            highest = logit > highest ? logit : highest;
          else
            wide = logit > wide ? logit : wide;
        });
    if constexpr (kLanes > 1)
      for (int i = 0; i < kLanes; ++i) highest = wide[i] > highest ? wide[i] : highest;
    return highest;
  }

  static void cross_entropy(const T* logits, const T* bias, int64_t rows, int64_t classes,
                            const int64_t* target, T* losses) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* const row = logits + r * classes;
      const T highest = max(row, bias, classes);
      Total total;
      over_columns<T, kLanes>(
          classes, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            add(total, lanes,
                exp_of_negative(lanes, lanes.load(row + c) + lanes.load(bias + c) - lanes.all(highest)));
          });
      losses[r] = loss(total, highest, row[target[r]] + bias[target[r]]);
    }
  }

  static PLIMSOLL_INLINE T loss(const Total& total, T highest, T right) {
    return static_cast<T>(::log(static_cast<double>(total.total()))) + highest - right;
  }

  static void cross_entropy_backward(T* logits, const T* bias, int64_t rows, int64_t classes,
                                     const int64_t* target, const T* grad, T* dbias, T* losses) {
    for (int64_t r = 0; r < rows; ++r) {
      T* const row = logits + r * classes;
      const T highest = max(row, bias, classes);
      const T right = row[target[r]] + bias[target[r]];
      Total total;
      over_columns<T, kLanes>(
          classes, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            const auto power =
                exp_of_negative(lanes, lanes.load(row + c) + lanes.load(bias + c) - lanes.all(highest));
            lanes.store(row + c, power);
            add(total, lanes, power);
          });
      if (grad == nullptr) losses[r] = loss(total, highest, right);
      const T given = grad == nullptr ? T(1) : grad[r];
      const T factor = given / total.total();
      over_columns<T, kLanes>(
          classes, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            const auto gradient = lanes.load(row + c) * lanes.all(factor);
            lanes.store(row + c, gradient);
            lanes.store(dbias + c, lanes.load(dbias + c) + gradient);
          });
      row[target[r]] -= given;
      dbias[target[r]] -= given;
    }
  }

  static void multilabel_bce(const T* logits, const T* bias, int64_t rows, int64_t classes,
                             const int64_t* ptr, const int64_t* ids, T* losses) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* const row = logits + r * classes;
      Total total;
      over_columns<T, kLanes>(
          classes, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            const auto zero = lanes.all(0);
            const auto logit = lanes.load(row + c) + lanes.load(bias + c);
            const auto above = logit > zero ? logit : zero;
            const auto power = exp_of_negative(lanes, logit > zero ? -logit : logit);
            add(total, lanes, above + log_of_one_and(lanes, power));
          });
      losses[r] = (total.total() - listed(row, bias, ptr[r], ptr[r + 1], ids)) / static_cast<T>(classes);
    }
  }

  /// Returns the sum of the listed logits of a row.
  static PLIMSOLL_INLINE T listed(const T* row, const T* bias, int64_t begin, int64_t end,
                                  const int64_t* ids) {
    T sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += row[ids[i]] + bias[ids[i]];
    return sum;
  }

  static void multilabel_bce_backward(T* logits, const T* bias, int64_t rows, int64_t classes,
                                      const int64_t* ptr, const int64_t* ids, const T* grad, T* dbias,
                                      T* losses) {
    if (grad == nullptr)
      bce_gradients<true>(logits, bias, rows, classes, ptr, ids, grad, dbias, losses);
    else
      bce_gradients<false>(logits, bias, rows, classes, ptr, ids, grad, dbias, losses);
  }

  template <bool kLosses>
  static PLIMSOLL_INLINE void bce_gradients(T* logits, const T* bias, int64_t rows, int64_t classes,
                                            const int64_t* ptr, const int64_t* ids, const T* grad, T* dbias,
                                            T* losses) {
    for (int64_t r = 0; r < rows; ++r) {
      T* const row = logits + r * classes;
      const T share = (kLosses ? T(1) : grad[r]) / static_cast<T>(classes);
      const T right = kLosses ? listed(row, bias, ptr[r], ptr[r + 1], ids) : T(0);
      Total total;
      over_columns<T, kLanes>(
          classes, [&](auto lanes, int64_t c) __attribute__((always_inline)) {
            const auto zero = lanes.all(0);
            const auto one = lanes.all(1);
            const auto logit = lanes.load(row + c) + lanes.load(bias + c);
            const auto power = exp_of_negative(lanes, logit > zero ? -logit : logit);
            if constexpr (kLosses)
              add(total, lanes, (logit > zero ? logit : zero) + log_of_one_and(lanes, power));
            const auto gradient = (logit > zero ? one : power) * lanes.all(share) / (power + one);
            lanes.store(row + c, gradient);
            lanes.store(dbias + c, lanes.load(dbias + c) + gradient);
          });
      if constexpr (kLosses) losses[r] = (total.total() - right) / static_cast<T>(classes);
      for (int64_t i = ptr[r]; i < ptr[r + 1]; ++i) {
        row[ids[i]] -= share;
        dbias[ids[i]] -= share;
      }
    }
  }
};

template <typename T, int kBytes>
constexpr LogitLosses<T> make_logit_losses() {
  using Rows = LogitLossRows<T, kBytes / static_cast<int>(sizeof(T))>;
  return {Rows::cross_entropy, Rows::cross_entropy_backward, Rows::multilabel_bce,
          Rows::multilabel_bce_backward};
}

}  // namespace

namespace PLIMSOLL_LEVEL {
extern const LogitLosses<float> logit_losses_f32 = make_logit_losses<float, PLIMSOLL_VECTOR_BYTES>();
extern const LogitLosses<double> logit_losses_f64 = make_logit_losses<double, PLIMSOLL_VECTOR_BYTES>();
}  // namespace PLIMSOLL_LEVEL

}  // namespace plimsoll

#include "kernels/segment/segment_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/attention/attention_reference.h"
#include "kernels/test_device.h"

// Tests kernels/segment/segment.cu through its steps on the host, and on a GPU if there is one, against the
// formulas of segment.h in float64.

namespace plimsoll {
namespace {

using Doubles = std::vector<double>;

struct Problem {
  std::vector<int64_t> ptr;
  int64_t features;
  Doubles x{}, dout_rows{}, dout_segments{}, weight{}, bias{}, mean_scale{};

  int64_t segments() const { return static_cast<int64_t>(ptr.size()) - 1; }
  int64_t rows() const { return ptr.back(); }

  // Numbers repeat, so that several rows reach the maximum.
  Problem(std::vector<int64_t> ptr_of, int64_t columns) : ptr(std::move(ptr_of)), features(columns) {
    std::mt19937_64 draw(7);
    const auto fill = [&](Doubles& to, int64_t count) {
      for (int64_t n = 0; n < count; ++n) to.push_back(static_cast<double>(draw() % 17) / 4 - 2);
    };
    fill(x, rows() * features);
    fill(dout_rows, rows() * features);
    fill(dout_segments, segments() * features);
    for (Doubles* const each : {&weight, &bias, &mean_scale}) fill(*each, features);
  }

  // Calls use(positions of the segment's column in x, position in a matrix of segments, column).
  template <typename Use>
  void over(Use use) const {
    for (int64_t g = 0; g < segments(); ++g)
      for (int64_t c = 0; c < features; ++c) {
        std::vector<size_t> at;
        for (int64_t n = ptr[static_cast<size_t>(g)]; n < ptr[static_cast<size_t>(g) + 1]; ++n)
          at.push_back(static_cast<size_t>(n * features + c));
        use(at, static_cast<size_t>(g * features + c), static_cast<size_t>(c));
      }
  }
};

constexpr double kEps = 1e-5;

Arrays reference(const Problem& p) {
  Arrays to;
  for (const char* const name : {"sum", "mean", "max", "norm_mean", "norm_r"})
    to[name].assign(p.dout_segments.size(), 0);
  for (const char* const name : {"dsum", "dmean", "dmax", "softmax", "dsoftmax", "norm", "dnorm"})
    to[name].assign(p.x.size(), 0);
  to["dweights"].assign(static_cast<size_t>(3 * p.features), 0);
  p.over([&](const std::vector<size_t>& at, size_t place, size_t c) {
    const auto rows = static_cast<double>(at.size());
    double sum = 0;
    double highest = -INFINITY;
    for (const size_t n : at) {
      sum += p.x[n];
      highest = std::max(highest, p.x[n]);
    }
    double powers = 0;
    double reached = 0;
    for (const size_t n : at) {
      powers += std::exp(p.x[n] - highest);
      reached += p.x[n] == highest ? 1 : 0;
    }
    to["sum"][place] = sum;
    to["mean"][place] = at.empty() ? 0 : sum / rows;
    to["max"][place] = at.empty() ? 0 : highest;
    double delta = 0;
    for (const size_t n : at) {
      to["softmax"][n] = std::exp(p.x[n] - highest) / powers;
      delta += to["softmax"][n] * p.dout_rows[n];
    }
    for (const size_t n : at) {
      to["dsum"][n] = p.dout_segments[place];
      to["dmean"][n] = p.dout_segments[place] / rows;
      to["dmax"][n] = p.x[n] == highest ? p.dout_segments[place] / reached : 0;
      to["dsoftmax"][n] = to["softmax"][n] * (p.dout_rows[n] - delta);
    }
    const double mean = to["mean"][place];
    double squares = 0;
    for (const size_t n : at) squares += std::pow(p.x[n] - p.mean_scale[c] * mean, 2);
    const double r = 1 / std::sqrt((at.empty() ? 0 : squares / rows) + kEps);
    to["norm_mean"][place] = mean;
    to["norm_r"][place] = r;
    double with_y = 0;
    for (const size_t n : at) {
      const double y = p.x[n] - p.mean_scale[c] * mean;
      to["norm"][n] = p.weight[c] * y * r + p.bias[c];
      with_y += p.dout_rows[n] * y;
      to["dweights"][c] += p.dout_rows[n] * y * r;
      to["dweights"][c + static_cast<size_t>(p.features)] += p.dout_rows[n];
    }
    double dy_sum = 0;
    for (const size_t n : at) {
      const double y = p.x[n] - p.mean_scale[c] * mean;
      to["dnorm"][n] = p.weight[c] * r * (p.dout_rows[n] - y * r * r * with_y / rows);
      dy_sum += to["dnorm"][n];
    }
    for (const size_t n : at) to["dnorm"][n] -= p.mean_scale[c] / rows * dy_sum;
    to["dweights"][c + static_cast<size_t>(2 * p.features)] -= mean * dy_sum;
  });
  return to;
}

template <typename T>
Arrays run(TestDevice& device, const Problem& p) {
  constexpr T kNone = std::numeric_limits<T>::quiet_NaN();
  const int64_t rows = p.rows() * p.features;
  const int64_t places = p.segments() * p.features;
  const int64_t* const ptr = device.upload(p.ptr);
  const T* const x = device.upload_as<T>(p.x);
  const T* const dout = device.upload_as<T>(p.dout_rows);
  const T* const dsegments = device.upload_as<T>(p.dout_segments);
  const T* const weight = device.upload_as<T>(p.weight);
  const T* const bias = device.upload_as<T>(p.bias);
  const T* const mean_scale = device.upload_as<T>(p.mean_scale);
  const Segments segments{ptr, p.segments(), p.features};
  const auto launch = [&](const auto& step) { device.launch()(segments.count * segments.blocks(), step); };
  Arrays to;
  const std::pair<const char*, Reduce> kinds[] = {
      {"sum", Reduce::sum}, {"mean", Reduce::mean}, {"max", Reduce::max}};
  for (const auto& [name, kind] : kinds) {
    T* const out = device.filled(places, kNone);
    T* const dx = device.filled(rows, kNone);
    if (device.on_host()) {
      launch(SegmentReduce<T>{segments, x, kind, out});
      launch(SegmentReduceBackward<T>{segments, dsegments, x, out, kind, dx});
    } else {
      segment_reduce_cuda(x, ptr, p.segments(), p.features, kind, out, nullptr);
      segment_reduce_backward_cuda(dsegments, x, out, ptr, p.segments(), p.features, kind, dx, nullptr);
    }
    to[name] = device.download(out, places);
    to[std::string("d") + name] = device.download(dx, rows);
  }
  T* const softmax = device.filled(rows, kNone);
  T* const dsoftmax = device.filled(rows, kNone);
  T* const norm = device.filled(rows, kNone);
  T* const dnorm = device.filled(rows, kNone);
  T* const mean = device.filled(places, kNone);
  T* const r = device.filled(places, kNone);
  T* const dweights = device.filled(3 * p.features, kNone);
  T* const buffer = device.filled(graph_norm_backward_workspace(p.segments(), p.features), kNone);
  const T eps = static_cast<T>(kEps);
  if (device.on_host()) {
    launch(SegmentSoftmax<T>{segments, x, softmax});
    launch(SegmentSoftmaxBackward<T>{segments, dout, softmax, dsoftmax});
    launch(GraphNorm<T>{segments, x, weight, bias, mean_scale, eps, norm, mean, r});
    run_graph_norm_backward(segments, dout, x, weight, mean_scale, mean, r, dnorm, dweights, buffer,
                            device.launch());
  } else {
    segment_softmax_cuda(x, ptr, p.segments(), p.features, softmax, nullptr);
    segment_softmax_backward_cuda(dout, softmax, ptr, p.segments(), p.features, dsoftmax, nullptr);
    graph_norm_cuda(x, ptr, p.segments(), p.features, weight, bias, mean_scale, eps, norm, mean, r, nullptr);
    graph_norm_backward_cuda(dout, x, ptr, p.segments(), p.features, weight, mean_scale, mean, r, dnorm,
                             dweights, buffer, nullptr);
  }
  to["softmax"] = device.download(softmax, rows);
  to["dsoftmax"] = device.download(dsoftmax, rows);
  to["norm"] = device.download(norm, rows);
  to["dnorm"] = device.download(dnorm, rows);
  to["norm_mean"] = device.download(mean, places);
  to["norm_r"] = device.download(r, places);
  to["dweights"] = device.download(dweights, 3 * p.features);
  return to;
}

class SegmentsOnDevice : public OnDevice {};

INSTANTIATE_TEST_SUITE_P(Places, SegmentsOnDevice,
                         testing::Values(Where::host, Where::host_backwards, Where::cuda), name_of_place);

TEST_P(SegmentsOnDevice, GiveTheFormulas) {
  std::vector<int64_t> many = {0};  // More segments than a part of a sum has.
  for (int64_t g = 0; g < 70; ++g) many.push_back(many.back() + (g * 5) % 11);
  for (const std::vector<int64_t>& ptr :
       {std::vector<int64_t>{0}, {0, 0}, {0, 1}, {0, 3, 3, 40}, {0, 0, 130, 131}, many})
    for (const int64_t features : {1, 2, 3, 8, 31, 32, 33, 70}) {
      SCOPED_TRACE(testing::Message() << ptr.size() - 1 << " segments, " << features << " columns");
      const Problem problem(ptr, features);
      const Arrays expected = reference(problem);
      TestDevice device(GetParam(), false);
      const Arrays found = run<double>(device, problem);
      for (const auto& [name, expected_numbers] : expected)
        for (size_t n = 0; n < expected_numbers.size(); ++n)
          ASSERT_NEAR(found.at(name)[n], expected_numbers[n],
                      1e-11 * std::max(1.0, std::abs(expected_numbers[n])))
              << name;
      // For a segment of one value r is 1 / sqrt(eps), and errors of float32 grow by this factor.
      if (ptr.size() > 2 && ptr[1] != 0) continue;
      for (const auto& [name, numbers] : run<float>(device, problem)) {
        if (name == "dnorm" || name == "norm" || name == "dweights") continue;
        expect_close<float>({{name, numbers}}, expected);
      }
    }
}

TEST_P(SegmentsOnDevice, GiveTheSameBits) {
  const Problem problem({0, 40, 41, 41, 333}, 6);
  TestDevice device(GetParam(), true);
  TestDevice other(GetParam() == Where::cuda ? Where::cuda : Where::host, true);
  EXPECT_EQ(run<float>(device, problem), run<float>(other, problem));
}

TEST(SegmentsOnThreads, GiveTheSameBits) {
  const Problem problem({0, 10, 11, 11, 63}, 6);
  TestDevice device(Where::threads, true);
  TestDevice other(Where::host, true);
  EXPECT_EQ(run<float>(device, problem), run<float>(other, problem));
}

}  // namespace
}  // namespace plimsoll

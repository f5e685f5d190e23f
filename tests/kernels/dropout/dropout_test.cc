#include "kernels/dropout/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/cuda.h"

namespace plimsoll {
namespace {

// The factors that relu_dropout multiplies ones by.
void draw_factors(Level level, uint64_t seed, uint32_t layer, uint32_t epoch, double p, int64_t channels,
                  const std::vector<int64_t>& item, const std::vector<int64_t>& local,
                  std::vector<float>& result) {
  const std::vector<float> ones(result.size(), 1.0F);
  relu_dropout(level, seed, layer, epoch, p, std::ssize(item), channels, item.data(), local.data(),
               ones.data(), result.data());
}

std::vector<float> factors(double p, int64_t channels, const std::vector<int64_t>& item,
                           const std::vector<int64_t>& local, uint32_t layer = 0, uint32_t epoch = 1,
                           uint64_t seed = 42) {
  std::vector<float> result(item.size() * static_cast<size_t>(channels));
  draw_factors(kernel_level(), seed, layer, epoch, p, channels, item, local, result);
  return result;
}

TEST(Dropout, DropsTheShareAskedForAndScalesTheRest) {
  constexpr double kShare = 0.3;
  std::vector<int64_t> item(2000);
  std::iota(item.begin(), item.end(), int64_t{0});
  const std::vector<float> result = factors(kShare, 96, item, std::vector<int64_t>(item.size(), 0));
  int64_t dropped = 0;
  for (const float factor : result) {
    dropped += factor == 0;
    ASSERT_TRUE(factor == 0 || factor == static_cast<float>(1 / (1 - kShare)));
  }
  // 192,000 draws: five standard deviations are 0.0052.
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(result.size()), kShare, 0.0053);
}

TEST(Dropout, DependsOnKeysNotOnTheCutOfTheBlock) {
  constexpr int64_t kChannels = 7;  // Rows do not begin at multiples of four numbers.
  const std::vector<int64_t> item = {5, 5, 5, 9, 9};
  const std::vector<int64_t> local = {0, 1, 2, 0, 1};
  const std::vector<float> whole = factors(0.5, kChannels, item, local);
  for (size_t row = 0; row < item.size(); ++row) {
    const std::vector<float> alone = factors(0.5, kChannels, {item[row]}, {local[row]});
    for (size_t c = 0; c < kChannels; ++c) EXPECT_EQ(alone[c], whole[row * kChannels + c]) << row << " " << c;
  }
}

// A factor is one of four numbers of a counter. Vectors of counters must draw the same numbers.
TEST(Dropout, EveryLevelDrawsTheNumbersOfPhilox) {
  const std::vector<int64_t> item = {5, 77, 5};
  const std::vector<int64_t> local = {0, 3, 1'000'003};
  for (int level = 0; level <= static_cast<int>(best_level()); ++level) {
    for (const int64_t channels : {1, 3, 4, 7, 32, 33, 96, 130}) {
      std::vector<float> found(item.size() * static_cast<size_t>(channels));
      draw_factors(static_cast<Level>(level), 99, 3, 8, 0.4, channels, item, local, found);
      for (size_t row = 0; row < item.size(); ++row) {
        for (int64_t c = 0; c < channels; ++c) {
          const auto element = static_cast<uint64_t>(local[row] * channels + c);
          const Philox::Counter bits = Philox(99)(philox_counter(
              Purpose::dropout, 3, 8, static_cast<uint32_t>(item[row]), static_cast<uint32_t>(element / 4)));
          const bool dropped = bits[element % 4] < static_cast<uint32_t>(0.4 * 0x1p32);
          ASSERT_EQ(found[row * static_cast<size_t>(channels) + static_cast<size_t>(c)],
                    dropped ? 0.0F : static_cast<float>(1 / 0.6))
              << level << " " << channels << " " << row << " " << c;
        }
      }
    }
  }
}

TEST(Dropout, EveryKeyMatters) {
  const std::vector<int64_t> item = {1};
  const std::vector<int64_t> local = {0};
  const std::vector<float> base = factors(0.5, 64, item, local);
  EXPECT_NE(base, factors(0.5, 64, {2}, local));
  EXPECT_NE(base, factors(0.5, 64, item, {1}));
  EXPECT_NE(base, factors(0.5, 64, item, local, 1));
  EXPECT_NE(base, factors(0.5, 64, item, local, 0, 2));
  EXPECT_NE(base, factors(0.5, 64, item, local, 0, 1, 43));
}

TEST(Dropout, NothingIsDroppedAtZero) {
  for (const float factor : factors(0, 33, {3}, {4})) EXPECT_EQ(factor, 1.0F);
}

// One pass gives the bits of two passes, and its gradient the bits of their gradients.
TEST(Dropout, OfReluIsReluTimesTheFactors) {
  constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int64_t> item = {5, 77};
  const std::vector<int64_t> local = {3, 1'000'003};
  for (int at = 0; at <= static_cast<int>(best_level()); ++at) {
    const auto level = static_cast<Level>(at);
    for (const int64_t channels : {1, 7, 32, 80, 384}) {
      const auto count = static_cast<size_t>(2 * channels);
      std::vector<float> x(count), factor(count), out(count), grad(count), dx(count);
      for (size_t i = 0; i < count; ++i) {
        x[i] = i == 5 ? kNothing : std::sin(static_cast<float>(i) * 1.7F);
        grad[i] = std::cos(static_cast<float>(i));
      }
      draw_factors(level, 9, 3, 8, 0.4, channels, item, local, factor);
      relu_dropout(level, 9, 3, 8, 0.4, 2, channels, item.data(), local.data(), x.data(), out.data());
      relu_dropout_backward(level, 0.4, 2 * channels, grad.data(), out.data(), dx.data());
      for (size_t i = 0; i < count; ++i) {
        if (i == 5) {
          EXPECT_TRUE(std::isnan(out[i]));
          continue;
        }
        ASSERT_EQ(out[i], std::max(x[i], 0.0F) * factor[i]) << at << " " << channels << " " << i;
        ASSERT_EQ(dx[i], x[i] > 0 ? grad[i] * factor[i] : 0.0F) << at << " " << channels << " " << i;
      }
    }
  }
}

TEST(Cuda, ABuildOrMachineWithoutItSaysSo) {
  if (cuda_devices() > 0) GTEST_SKIP() << "a CUDA device is here";
  EXPECT_THROW(relu_dropout_backward_cuda(0.5, 1, nullptr, nullptr, nullptr, nullptr), Failure);
}

// Copies numbers to the device, and back.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& numbers)
      : count_(numbers.size()), data_(cuda_allocate(static_cast<int64_t>(count_ * sizeof(T)))) {
    cuda_copy(data_, numbers.data(), static_cast<int64_t>(count_ * sizeof(T)));
  }
  ~OnDevice() { cuda_free(data_); }
  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> numbers() const {
    std::vector<T> found(count_);
    cuda_copy(found.data(), data_, static_cast<int64_t>(count_ * sizeof(T)));
    return found;
  }

 private:
  size_t count_;
  void* data_;
};

TEST(Cuda, DropsWhatTheHostDrops) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  constexpr int64_t kRows = 300;
  constexpr int64_t kChannels = 37;
  std::vector<int64_t> item(kRows);
  std::vector<int64_t> local(kRows);
  std::vector<float> x(kRows * kChannels);
  std::vector<float> grad(x.size());
  for (int64_t r = 0; r < kRows; ++r) {
    item[static_cast<size_t>(r)] = r / 20;
    local[static_cast<size_t>(r)] = r % 20;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(static_cast<int>(i * 7919 % 2001) - 1000) / 500;
    grad[i] = static_cast<float>(i % 13) - 6;
  }
  std::vector<float> out(x.size());
  std::vector<float> dx(x.size());
  relu_dropout(kernel_level(), 5, 2, 3, 0.3, kRows, kChannels, item.data(), local.data(), x.data(),
               out.data());
  relu_dropout_backward(kernel_level(), 0.3, std::ssize(x), grad.data(), out.data(), dx.data());

  const OnDevice items(item);
  const OnDevice locals(local);
  const OnDevice input(x);
  const OnDevice gradient(grad);
  const OnDevice found(x);
  const OnDevice found_dx(x);
  relu_dropout_cuda(5, 2, 3, 0.3, kRows, kChannels, items.data(), locals.data(), input.data(), found.data(),
                    nullptr);
  relu_dropout_backward_cuda(0.3, std::ssize(x), gradient.data(), found.data(), found_dx.data(), nullptr);
  EXPECT_EQ(found.numbers(), out);
  EXPECT_EQ(found_dx.numbers(), dx);
}

}  // namespace
}  // namespace plimsoll

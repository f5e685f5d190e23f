#include "kernels/product/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace plimsoll {
namespace {

std::vector<float> random_numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

struct Case {
  int64_t rows, in, out;
  bool bias;
};

class Product : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (GetParam() > best_level()) GTEST_SKIP() << "no " << name_of(GetParam()) << " here";
  }
  std::vector<float> multiply(const std::vector<float>& x, const std::vector<float>& w,
                              const std::vector<float>& bias, const Case& sizes) const {
    const ProductKernels<float>& kernels = product_kernels<float>(GetParam());
    std::vector<float> packed(static_cast<size_t>(product_size(kernels, sizes.in, sizes.out)));
    kernels.pack(w.data(), sizes.in, sizes.out, sizes.in, packed.data());
    std::vector<float> y(static_cast<size_t>(sizes.rows * sizes.out) + 1, 7.0F);
    kernels.multiply({x.data(), sizes.in}, sizes.rows, packed.data(), sizes.in, sizes.out,
                     sizes.bias ? bias.data() : nullptr, y.data(), {});
    EXPECT_EQ(y.back(), 7.0F);  // Nothing is written after the last row.
    y.pop_back();
    return y;
  }
};

TEST_P(Product, IsThatOfDoublePrecision) {
  for (const Case& sizes :
       {Case{0, 3, 4, true}, Case{1, 1, 1, false}, Case{1, 192, 192, true}, Case{5, 54, 96, false},
        Case{6, 96, 96, true}, Case{31, 17, 33, true}, Case{13, 8, 2, true}, Case{40, 384, 65, false}}) {
    const auto x = random_numbers(sizes.rows * sizes.in, 1);
    const auto w = random_numbers(sizes.out * sizes.in, 2);
    const auto bias = random_numbers(sizes.out, 3);
    const auto y = multiply(x, w, bias, sizes);
    for (int64_t r = 0; r < sizes.rows; ++r)
      for (int64_t c = 0; c < sizes.out; ++c) {
        double sum = sizes.bias ? bias[static_cast<size_t>(c)] : 0.0F;
        double size = std::abs(sum);
        for (int64_t k = 0; k < sizes.in; ++k) {
          const double term = static_cast<double>(x[static_cast<size_t>(r * sizes.in + k)]) *
                              static_cast<double>(w[static_cast<size_t>(c * sizes.in + k)]);
          sum += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(y[static_cast<size_t>(r * sizes.out + c)], sum, 1e-6 * size + 1e-7)
            << sizes.rows << " x " << sizes.in << " x " << sizes.out << " at " << r << ", " << c;
      }
  }
}

TEST_P(Product, ARowHasTheSameBitsAloneAndAmongOthers) {
  const Case all{23, 54, 70, true};
  const auto x = random_numbers(all.rows * all.in, 4);
  const auto w = random_numbers(all.out * all.in, 5);
  const auto bias = random_numbers(all.out, 6);
  const auto together = multiply(x, w, bias, all);
  for (int64_t r = 0; r < all.rows; ++r) {
    const std::vector<float> row(x.begin() + r * all.in, x.begin() + (r + 1) * all.in);
    const auto alone = multiply(row, w, bias, {1, all.in, all.out, true});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + r * all.out)) << r;
  }
}

// Tests products packed from W^T, of x stored by columns, added to y, and with relu.
template <typename T>
void expect_product(Level level, const Case& sizes, T tolerance) {
  const ProductKernels<T>& kernels = product_kernels<T>(level);
  const auto numbers = [](int64_t count, uint32_t seed) {
    const std::vector<float> made = random_numbers(count, seed);
    return std::vector<T>(made.begin(), made.end());
  };
  const int64_t step = sizes.rows + 3;
  const std::vector<T> x = numbers(sizes.in * step, 1);
  const std::vector<T> w = numbers(sizes.in * sizes.out, 2);
  const std::vector<T> before = numbers(sizes.rows * sizes.out, 3);
  std::vector<T> packed(static_cast<size_t>(product_size(kernels, sizes.in, sizes.out)));
  kernels.pack_transposed(w.data(), sizes.in, sizes.out, sizes.out, packed.data());
  for (const bool relu : {false, true}) {
    std::vector<T> y = before;
    kernels.multiply({x.data(), 1, step}, sizes.rows, packed.data(), sizes.in, sizes.out, nullptr, y.data(),
                     {.add = true, .relu = relu});
    for (int64_t r = 0; r < sizes.rows; ++r)
      for (int64_t c = 0; c < sizes.out; ++c) {
        const auto at = static_cast<size_t>(r * sizes.out + c);
        double sum = static_cast<double>(before[at]);
        for (int64_t k = 0; k < sizes.in; ++k)
          sum += static_cast<double>(x[static_cast<size_t>(k * step + r)]) *
                 static_cast<double>(w[static_cast<size_t>(k * sizes.out + c)]);
        ASSERT_NEAR(y[at], relu && sum < 0 ? 0 : sum, tolerance * static_cast<double>(sizes.in + 1));
      }
  }
}

// Tests sum += a^T b.
template <typename T>
void expect_transposed_product(Level level, const Case& sizes, T tolerance) {
  const ProductKernels<T>& kernels = product_kernels<T>(level);
  const std::vector<float> a = random_numbers(sizes.rows * sizes.in, 1);
  const std::vector<float> b = random_numbers(sizes.rows * sizes.out, 2);
  const std::vector<T> left(a.begin(), a.end());
  const std::vector<T> right(b.begin(), b.end());
  std::vector<T> buffer(static_cast<size_t>(sizes.rows * kernels.panel));
  std::vector<T> sum(static_cast<size_t>(sizes.in * sizes.out), T(2));
  kernels.add_transposed({left.data(), sizes.in}, sizes.in, right.data(), sizes.out, sizes.rows,
                         buffer.data(), sum.data());
  for (int64_t m = 0; m < sizes.in; ++m)
    for (int64_t n = 0; n < sizes.out; ++n) {
      double expected = 2;
      for (int64_t r = 0; r < sizes.rows; ++r)
        expected += static_cast<double>(a[static_cast<size_t>(r * sizes.in + m)]) *
                    static_cast<double>(b[static_cast<size_t>(r * sizes.out + n)]);
      ASSERT_NEAR(sum[static_cast<size_t>(m * sizes.out + n)], expected,
                  tolerance * static_cast<double>(sizes.rows + 1));
    }
}

TEST_P(Product, OfColumnsTransposedAndAdded) {
  for (const Case& sizes : {Case{0, 3, 4, false}, Case{1, 1, 1, false}, Case{7, 68, 64, false},
                            Case{13, 5, 33, false}, Case{40, 64, 256, false}}) {
    expect_product<float>(GetParam(), sizes, 2e-6F);
    expect_product<double>(GetParam(), sizes, 1e-14);
    expect_transposed_product<float>(GetParam(), sizes, 2e-6F);
    expect_transposed_product<double>(GetParam(), sizes, 1e-14);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Product, testing::Values(Level::portable, Level::avx2, Level::avx512),
                         [](const auto& level) { return name_of(level.param); });

}  // namespace
}  // namespace plimsoll

#include "kernels/product.h"

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
                              const std::vector<float>& bias, const Case& of) const {
    const ProductKernels<float>& kernels = product_kernels<float>(GetParam());
    std::vector<float> packed(static_cast<size_t>(product_size(kernels, of.in, of.out)));
    kernels.pack(w.data(), of.in, of.out, of.in, packed.data());
    std::vector<float> y(static_cast<size_t>(of.rows * of.out) + 1, 7.0F);
    kernels.multiply({x.data(), of.in}, of.rows, packed.data(), of.in, of.out,
                     of.bias ? bias.data() : nullptr, y.data(), {});
    EXPECT_EQ(y.back(), 7.0F);  // nothing after the last row
    y.pop_back();
    return y;
  }
};

TEST_P(Product, IsThatOfDoublePrecision) {
  for (const Case& of :
       {Case{0, 3, 4, true}, Case{1, 1, 1, false}, Case{1, 192, 192, true}, Case{5, 54, 96, false},
        Case{6, 96, 96, true}, Case{31, 17, 33, true}, Case{13, 8, 2, true}, Case{40, 384, 65, false}}) {
    const auto x = random_numbers(of.rows * of.in, 1);
    const auto w = random_numbers(of.out * of.in, 2);
    const auto bias = random_numbers(of.out, 3);
    const auto y = multiply(x, w, bias, of);
    for (int64_t r = 0; r < of.rows; ++r)
      for (int64_t c = 0; c < of.out; ++c) {
        double sum = of.bias ? bias[static_cast<size_t>(c)] : 0.0F;
        double size = std::abs(sum);
        for (int64_t k = 0; k < of.in; ++k) {
          const double term = static_cast<double>(x[static_cast<size_t>(r * of.in + k)]) *
                              static_cast<double>(w[static_cast<size_t>(c * of.in + k)]);
          sum += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(y[static_cast<size_t>(r * of.out + c)], sum, 1e-6 * size + 1e-7)
            << of.rows << " x " << of.in << " x " << of.out << " at " << r << ", " << c;
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

// From W^T, of x that lies by columns, added to y, and cut off at 0.
template <typename T>
void expect_product(Level level, const Case& of, T tolerance) {
  const ProductKernels<T>& kernels = product_kernels<T>(level);
  const auto numbers = [](int64_t count, uint32_t seed) {
    const std::vector<float> made = random_numbers(count, seed);
    return std::vector<T>(made.begin(), made.end());
  };
  const int64_t step = of.rows + 3;
  const std::vector<T> x = numbers(of.in * step, 1);
  const std::vector<T> w = numbers(of.in * of.out, 2);
  const std::vector<T> before = numbers(of.rows * of.out, 3);
  std::vector<T> packed(static_cast<size_t>(product_size(kernels, of.in, of.out)));
  kernels.pack_transposed(w.data(), of.in, of.out, of.out, packed.data());
  for (const bool relu : {false, true}) {
    std::vector<T> y = before;
    kernels.multiply({x.data(), 1, step}, of.rows, packed.data(), of.in, of.out, nullptr, y.data(),
                     {.add = true, .relu = relu});
    for (int64_t r = 0; r < of.rows; ++r)
      for (int64_t c = 0; c < of.out; ++c) {
        const auto at = static_cast<size_t>(r * of.out + c);
        double sum = static_cast<double>(before[at]);
        for (int64_t k = 0; k < of.in; ++k)
          sum += static_cast<double>(x[static_cast<size_t>(k * step + r)]) *
                 static_cast<double>(w[static_cast<size_t>(k * of.out + c)]);
        ASSERT_NEAR(y[at], relu && sum < 0 ? 0 : sum, tolerance * static_cast<double>(of.in + 1));
      }
  }
}

// sum += a^T b.
template <typename T>
void expect_transposed_product(Level level, const Case& of, T tolerance) {
  const ProductKernels<T>& kernels = product_kernels<T>(level);
  const std::vector<float> a = random_numbers(of.rows * of.in, 1);
  const std::vector<float> b = random_numbers(of.rows * of.out, 2);
  const std::vector<T> left(a.begin(), a.end());
  const std::vector<T> right(b.begin(), b.end());
  std::vector<T> buffer(static_cast<size_t>(of.rows * kernels.panel));
  std::vector<T> sum(static_cast<size_t>(of.in * of.out), T(2));
  kernels.add_transposed({left.data(), of.in}, of.in, right.data(), of.out, of.rows, buffer.data(),
                         sum.data());
  for (int64_t m = 0; m < of.in; ++m)
    for (int64_t n = 0; n < of.out; ++n) {
      double expected = 2;
      for (int64_t r = 0; r < of.rows; ++r)
        expected += static_cast<double>(a[static_cast<size_t>(r * of.in + m)]) *
                    static_cast<double>(b[static_cast<size_t>(r * of.out + n)]);
      ASSERT_NEAR(sum[static_cast<size_t>(m * of.out + n)], expected,
                  tolerance * static_cast<double>(of.rows + 1));
    }
}

TEST_P(Product, OfColumnsTransposedAndAdded) {
  for (const Case& of : {Case{0, 3, 4, false}, Case{1, 1, 1, false}, Case{7, 68, 64, false},
                         Case{13, 5, 33, false}, Case{40, 64, 256, false}}) {
    expect_product<float>(GetParam(), of, 2e-6F);
    expect_product<double>(GetParam(), of, 1e-14);
    expect_transposed_product<float>(GetParam(), of, 2e-6F);
    expect_transposed_product<double>(GetParam(), of, 1e-14);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Product, testing::Values(Level::portable, Level::avx2, Level::avx512),
                         [](const auto& level) { return name_of(level.param); });

}  // namespace
}  // namespace plimsoll

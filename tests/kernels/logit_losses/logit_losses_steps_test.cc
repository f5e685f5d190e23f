#include "kernels/logit_losses/logit_losses_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/test_device.h"

// Tests kernels/logit_losses/logit_losses.cu through its steps on the host, and on a GPU if there is one,
// against the formulas of logit_losses.h in float64.

namespace plimsoll {
namespace {

using Doubles = std::vector<double>;

struct Problem {
  int64_t rows, classes;
  Doubles logits, bias, grad;
  std::vector<int64_t> target, ptr = {0}, ids;

  // Some logits are far from the others; lists have no, one, some and all classes.
  Problem(int64_t row_count, int64_t class_count) : rows(row_count), classes(class_count) {
    std::mt19937_64 draw(7);
    const auto number = [&] { return static_cast<double>(draw() % 4001) / 500 - 4; };
    for (int64_t n = 0; n < rows * classes; ++n) logits.push_back(n % 97 == 5 ? 1e4 * number() : number());
    for (int64_t c = 0; c < classes; ++c) bias.push_back(number());
    for (int64_t r = 0; r < rows; ++r) {
      grad.push_back(number());
      target.push_back(static_cast<int64_t>(draw() % static_cast<uint64_t>(classes)));
      const int64_t every = std::vector<int64_t>{0, classes, 3, 1}[static_cast<size_t>(r % 4)];
      for (int64_t c = r % classes; every > 0 && c < classes; c += every) ids.push_back(c);
      ptr.push_back(static_cast<int64_t>(ids.size()));
    }
  }
  double logit(int64_t r, int64_t c) const {
    return logits[static_cast<size_t>(r * classes + c)] + bias[static_cast<size_t>(c)];
  }
};

struct Found {
  Doubles losses, gradients;
};

Found cross_entropy(const Problem& p, const Doubles& grad) {
  Found to;
  for (int64_t r = 0; r < p.rows; ++r) {
    double highest = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < p.classes; ++c) highest = std::max(highest, p.logit(r, c));
    double sum = 0;
    for (int64_t c = 0; c < p.classes; ++c) sum += std::exp(p.logit(r, c) - highest);
    const int64_t right = p.target[static_cast<size_t>(r)];
    to.losses.push_back(std::log(sum) + highest - p.logit(r, right));
    for (int64_t c = 0; c < p.classes; ++c)
      to.gradients.push_back(grad[static_cast<size_t>(r)] *
                             (std::exp(p.logit(r, c) - highest) / sum - (c == right ? 1 : 0)));
  }
  return to;
}

Found multilabel_bce(const Problem& p, const Doubles& grad) {
  Found to;
  for (int64_t r = 0; r < p.rows; ++r) {
    std::vector<double> listed(static_cast<size_t>(p.classes), 0);
    for (int64_t k = p.ptr[static_cast<size_t>(r)]; k < p.ptr[static_cast<size_t>(r) + 1]; ++k)
      listed[static_cast<size_t>(p.ids[static_cast<size_t>(k)])] = 1;
    double sum = 0;
    for (int64_t c = 0; c < p.classes; ++c) {
      const double z = p.logit(r, c);
      const double is = listed[static_cast<size_t>(c)];
      sum += std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))) - is * z;
      to.gradients.push_back(grad[static_cast<size_t>(r)] * (1 / (1 + std::exp(-z)) - is) /
                             static_cast<double>(p.classes));
    }
    to.losses.push_back(sum / static_cast<double>(p.classes));
  }
  return to;
}

void expect_near(const Doubles& found, const Doubles& expected, double relative) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t n = 0; n < found.size(); ++n)
    ASSERT_NEAR(found[n], expected[n], relative * std::max(1.0, std::abs(expected[n]))) << n;
}

class LogitLossesOnDevice : public OnDevice {
 protected:
  // Returns losses and gradients of a tile, by the cross-entropy if `cross`, else by the other loss.
  template <typename T>
  Found run(const Problem& p, bool cross, bool gradients, bool with_grad) const {
    TestDevice device(GetParam(), false);
    const auto upload = [&](const Doubles& numbers) {
      return device.upload(std::vector<T>(numbers.begin(), numbers.end()));
    };
    T* const logits = upload(p.logits);
    T* const losses = device.filled<T>(p.rows, T(-7));
    const LogitTile<T> tile{.logits = logits,
                            .bias = upload(p.bias),
                            .rows = p.rows,
                            .classes = p.classes,
                            .losses = losses,
                            .gradients = gradients,
                            .grad = with_grad ? upload(p.grad) : nullptr};
    const int64_t* const target = device.upload(p.target);
    const int64_t* const ptr = device.upload(p.ptr);
    const int64_t* const ids = device.upload(p.ids);
    if (!device.on_host())
      cross ? cross_entropy_cuda(tile, target, nullptr) : multilabel_bce_cuda(tile, ptr, ids, nullptr);
    else if (cross)
      device.launch()(p.rows, CrossEntropyRow<T>{tile, target});
    else
      device.launch()(p.rows, MultilabelBceRow<T>{tile, ptr, ids});
    return {device.download(losses, p.rows), device.download(logits, p.rows * p.classes)};
  }
};
INSTANTIATE_TEST_SUITE_P(, LogitLossesOnDevice,
                         testing::Values(Where::host, Where::host_backwards, Where::cuda), name_of_place);

TEST_P(LogitLossesOnDevice, AreThoseOfTheFormulas) {
  for (const int64_t classes : {1, 31, 32, 33, 2049})
    for (const bool cross : {false, true}) {
      SCOPED_TRACE(testing::Message() << classes << " classes, cross entropy " << cross);
      const Problem p(9, classes);
      for (const bool with_grad : {false, true}) {
        const Doubles grad = with_grad ? p.grad : Doubles(9, 1);
        const Found expected = cross ? cross_entropy(p, grad) : multilabel_bce(p, grad);
        const Found doubles = run<double>(p, cross, true, with_grad);
        expect_near(doubles.losses, expected.losses, 1e-12);
        expect_near(doubles.gradients, expected.gradients, 1e-12);
        const Found floats = run<float>(p, cross, true, with_grad);
        expect_near(floats.losses, expected.losses, 1e-5);
        expect_near(floats.gradients, expected.gradients, 2e-3);  // Logits of 1e4 are rounded.
        const Found alone = run<float>(p, cross, false, with_grad);
        EXPECT_EQ(alone.losses, floats.losses);
        expect_near(alone.gradients, p.logits, 1e-6);  // The logits are unchanged.
      }
    }
}

TEST_P(LogitLossesOnDevice, OfAClassThatIsNoneAreNoNumberAndNothingElseIsWritten) {
  for (const bool cross : {false, true})
    for (const int64_t wrong : {int64_t{-100}, int64_t{33}}) {
      Problem p(9, 33);
      const Found before = run<double>(p, cross, true, true);
      p.target[4] = wrong;
      p.ids[static_cast<size_t>(p.ptr[2])] = wrong;  // A class of row 2.
      const Found found = run<double>(p, cross, true, true);
      const size_t row = cross ? 4 : 2;
      for (size_t r = 0; r < 9; ++r) {
        EXPECT_EQ(std::isnan(found.losses[r]), r == row) << r;
        for (size_t c = 0; r != row && c < 33; ++c)
          EXPECT_EQ(found.gradients[33 * r + c], before.gradients[33 * r + c]) << r << " " << c;
      }
    }
}

TEST(LogitLossesOnThreads, SeeWhatOtherLanesWrote) {
  const Problem p(2, 40);
  std::vector<double> logits(p.logits);
  std::vector<double> losses(2);
  const LogitTile<double> tile{.logits = logits.data(),
                               .bias = p.bias.data(),
                               .rows = 2,
                               .classes = 40,
                               .losses = losses.data(),
                               .gradients = true,
                               .grad = nullptr};
  TestLaunch{Where::threads}(2, CrossEntropyRow<double>{tile, p.target.data()});
  expect_near(logits, cross_entropy(p, {1, 1}).gradients, 1e-12);
  logits = p.logits;
  TestLaunch{Where::threads}(2, MultilabelBceRow<double>{tile, p.ptr.data(), p.ids.data()});
  expect_near(logits, multilabel_bce(p, {1, 1}).gradients, 1e-12);
}

}  // namespace
}  // namespace plimsoll

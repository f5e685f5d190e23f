#include "train/metrics.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "memory/vector.h"

namespace plimsoll {
namespace {

std::optional<double> share(int64_t part, int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

float threshold_at_rate(std::span<const float> benign_scores, double rate) {
  if (benign_scores.empty()) throw InputError("no benign validation window to set a threshold by");
  Vector<float, Tag::columns> sorted(benign_scores.begin(), benign_scores.end());
  const auto allowed =
      std::min(static_cast<size_t>(rate * static_cast<double>(sorted.size())), sorted.size() - 1);
  const auto at = sorted.begin() + static_cast<int64_t>(allowed);
  std::nth_element(sorted.begin(), at, sorted.end(), std::greater<>());
  return *at;
}

void Verdicts::add(bool truth, bool verdict) {
  ++(truth ? (verdict ? true_positives : false_negatives) : (verdict ? false_positives : true_negatives));
}

std::optional<double> Verdicts::precision() const {
  return share(true_positives, true_positives + false_positives);
}
std::optional<double> Verdicts::recall() const {
  return share(true_positives, true_positives + false_negatives);
}
std::optional<double> Verdicts::false_positive_rate() const {
  return share(false_positives, false_positives + true_negatives);
}
std::optional<double> Verdicts::f1() const {
  if (true_positives + false_negatives == 0) return std::nullopt;
  return share(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
}

std::optional<double> roc_auc(std::span<const float> scores, std::span<const uint8_t> truth) {
  Vector<size_t, Tag::columns> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  const auto positives = std::count(truth.begin(), truth.end(), uint8_t{1});
  const auto negatives = static_cast<int64_t>(truth.size()) - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  double positive_ranks = 0;
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    int64_t tied_positives = 0;
    for (; last < order.size() && scores[order[last]] == scores[order[first]]; ++last)
      tied_positives += truth[order[last]];
    // Equal scores share the mean of their ranks, which count from 1.
    positive_ranks += static_cast<double>(tied_positives) * static_cast<double>(first + 1 + last) / 2;
    first = last;
  }
  const auto p = static_cast<double>(positives);
  return (positive_ranks - p * (p + 1) / 2) / (p * static_cast<double>(negatives));
}

}  // namespace plimsoll

#include "tasks/metrics/classification_metrics.h"

#include <algorithm>
#include <cmath>

#include "memory/vector.h"
#include "tasks/metrics/metrics.h"
#include "tasks/metrics/ranking.h"

namespace plimsoll {
namespace {

using Column = Vector<float, Tag::columns>;

constexpr int64_t kMaxConfused = 64;

struct Counts {
  int64_t items = 0;
  int64_t predicted = 0;
  int64_t right = 0;
};

// Returns the F1 of one class; undefined if no item has the class and none was predicted as it.
std::optional<double> f1_of(const Counts& counts) {
  if (counts.items + counts.predicted == 0) return std::nullopt;
  return 2.0 * static_cast<double>(counts.right) / static_cast<double>(counts.items + counts.predicted);
}

std::span<const float> logits_of(std::span<const float> logits, size_t item, int64_t classes) {
  return logits.subspan(item * static_cast<size_t>(classes), static_cast<size_t>(classes));
}

// Returns the logarithm of the sum of the exponentials of each row.
Vector<double, Tag::columns> log_sums(std::span<const float> logits, int64_t classes) {
  Vector<double, Tag::columns> sums(logits.size() / static_cast<size_t>(classes));
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::span<const float> row = logits_of(logits, i, classes);
    const double max = *std::ranges::max_element(row);
    double sum = 0;
    for (const float logit : row) sum += std::exp(logit - max);
    sums[i] = max + std::log(sum);
  }
  return sums;
}

std::optional<double> mean_of(int64_t classes, const auto& figure) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t c = 0; c < classes; ++c)
    if (const std::optional<double> value = figure(c)) {
      sum += *value;
      ++count;
    }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

// Returns the mean AUC of each class against all others, by probability. With two classes, the difference of
// logits is used instead, which gives the same order.
std::optional<double> auc_of(std::span<const float> logits, std::span<const int64_t> labels,
                             int64_t classes) {
  Column scores(labels.size());
  Vector<uint8_t, Tag::columns> truth(labels.size());
  const auto against_rest = [&](int64_t c, const auto& score) {
    for (size_t i = 0; i < labels.size(); ++i) {
      scores[i] = score(i);
      truth[i] = labels[i] == c;
    }
    return roc_auc(scores, truth);
  };
  if (classes == 2) return against_rest(1, [&](size_t i) { return logits[2 * i + 1] - logits[2 * i]; });
  const auto sums = log_sums(logits, classes);
  return mean_of(classes, [&](int64_t c) {
    return against_rest(c, [&](size_t i) {
      return static_cast<float>(std::exp(logits_of(logits, i, classes)[static_cast<size_t>(c)] - sums[i]));
    });
  });
}

}  // namespace

int64_t classification_figures_bytes(int64_t items, int64_t classes) {
  return items * (static_cast<int64_t>(sizeof(float)) + 1 + Ranking::kBytesPerScore +
                  (classes > 2 ? static_cast<int64_t>(sizeof(double)) : 0));
}

ClassificationFigures classification_figures(std::span<const float> logits, std::span<const int64_t> labels,
                                             int64_t classes) {
  ClassificationFigures figures;
  figures.items = static_cast<int64_t>(labels.size());
  if (classes <= kMaxConfused) figures.confusion.resize(static_cast<size_t>(classes * classes));
  std::vector<Counts> counts(static_cast<size_t>(classes));
  int64_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row = logits_of(logits, i, classes);
    const int64_t predicted = std::ranges::max_element(row) - row.begin();
    if (!figures.confusion.empty()) ++figures.confusion[static_cast<size_t>(labels[i] * classes + predicted)];
    ++counts[static_cast<size_t>(labels[i])].items;
    ++counts[static_cast<size_t>(predicted)].predicted;
    counts[static_cast<size_t>(predicted)].right += predicted == labels[i];
    right += predicted == labels[i];
  }
  if (labels.empty()) return figures;
  figures.accuracy = static_cast<double>(right) / static_cast<double>(labels.size());
  const auto f1 = [&](int64_t c) { return f1_of(counts[static_cast<size_t>(c)]); };
  figures.f1 = classes == 2 ? f1(1) : mean_of(classes, f1);
  figures.auc = auc_of(logits, labels, classes);
  return figures;
}

}  // namespace plimsoll

#include "train/classification_metrics.h"

#include <algorithm>
#include <cmath>

#include "memory/vector.h"
#include "train/metrics.h"

namespace plimsoll {
namespace {

// F1 of one class; undefined when nothing is of it or called it.
std::optional<double> f1_of(const std::vector<int64_t>& confusion, int64_t classes, int64_t c) {
  const auto at = [&](int64_t row, int64_t column) {
    return confusion[static_cast<size_t>(row * classes + column)];
  };
  int64_t of_it = 0;
  int64_t called_it = 0;
  for (int64_t other = 0; other < classes; ++other) {
    of_it += at(c, other);
    called_it += at(other, c);
  }
  if (of_it + called_it == 0) return std::nullopt;
  return 2.0 * static_cast<double>(at(c, c)) / static_cast<double>(of_it + called_it);
}

// The probability of a class among all, or with two classes what orders alike.
Vector<float, Tag::columns> scores_of(std::span<const float> logits, int64_t classes, int64_t c) {
  const size_t items = logits.size() / static_cast<size_t>(classes);
  Vector<float, Tag::columns> scores(items);
  for (size_t i = 0; i < items; ++i) {
    const std::span<const float> row =
        logits.subspan(i * static_cast<size_t>(classes), static_cast<size_t>(classes));
    const float most = *std::ranges::max_element(row);
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit) - most);
    scores[i] =
        classes == 2
            ? row[1] - row[0]
            : static_cast<float>(std::exp(static_cast<double>(row[static_cast<size_t>(c)]) - most) / sum);
  }
  return scores;
}

std::optional<double> auc_of(std::span<const float> logits, std::span<const int64_t> labels, int64_t classes,
                             int64_t c) {
  Vector<uint8_t, Tag::columns> truth(labels.size());
  std::ranges::transform(labels, truth.begin(), [&](int64_t label) { return label == c; });
  return roc_auc(scores_of(logits, classes, c), truth);
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

}  // namespace

ClassificationFigures classification_figures(std::span<const float> logits, std::span<const int64_t> labels,
                                             int64_t classes) {
  ClassificationFigures figures;
  figures.items = static_cast<int64_t>(labels.size());
  figures.confusion.resize(static_cast<size_t>(classes * classes));
  int64_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const float* const row = logits.data() + i * static_cast<size_t>(classes);
    const int64_t called = std::max_element(row, row + classes) - row;
    ++figures.confusion[static_cast<size_t>(labels[i] * classes + called)];
    right += called == labels[i];
  }
  if (labels.empty()) return figures;
  figures.accuracy = static_cast<double>(right) / static_cast<double>(labels.size());
  const auto f1 = [&](int64_t c) { return f1_of(figures.confusion, classes, c); };
  const auto auc = [&](int64_t c) { return auc_of(logits, labels, classes, c); };
  figures.f1 = classes == 2 ? f1(1) : mean_of(classes, f1);
  figures.auc = classes == 2 ? auc(1) : mean_of(classes, auc);
  return figures;
}

}  // namespace plimsoll

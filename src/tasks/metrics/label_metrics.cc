#include "tasks/metrics/label_metrics.h"

#include <algorithm>
#include <cmath>

#include "memory/vector.h"
#include "tasks/metrics/metrics.h"

namespace plimsoll {
namespace {

// Returns the AUC of one label over the items for which it is known.
std::optional<double> auc_of_label(std::span<const float> logits, std::span<const float> labels, size_t label,
                                   size_t width) {
  Vector<float, Tag::columns> scores;
  Vector<uint8_t, Tag::columns> truth;
  scores.reserve(labels.size() / width);
  truth.reserve(labels.size() / width);
  for (size_t i = label; i < labels.size(); i += width) {
    if (std::isnan(labels[i])) continue;
    scores.push_back(logits[i]);
    truth.push_back(labels[i] > 0);
  }
  return roc_auc(scores, truth);
}

}  // namespace

LabelFigures label_figures(std::span<const float> logits, std::span<const float> labels, int64_t width) {
  LabelFigures figures;
  figures.items = std::ssize(labels) / width;
  ConfusionCounts counts;
  for (size_t i = 0; i < labels.size(); ++i)
    if (!std::isnan(labels[i])) counts.add(labels[i] > 0, logits[i] > 0);
  const int64_t wrong = counts.false_positives + counts.false_negatives;
  if (const int64_t twice = 2 * counts.true_positives; twice + wrong > 0)
    figures.micro_f1 = static_cast<double>(twice) / static_cast<double>(twice + wrong);
  double sum = 0;
  int64_t defined = 0;
  for (int64_t label = 0; label < width; ++label)
    if (const auto auc =
            auc_of_label(logits, labels, static_cast<size_t>(label), static_cast<size_t>(width))) {
      sum += *auc;
      ++defined;
    }
  if (defined > 0) figures.macro_auc = sum / static_cast<double>(defined);
  return figures;
}

double mean_label_loss(std::span<const float> logits, std::span<const float> labels) {
  double sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::isnan(labels[i])) continue;
    const double x = labels[i] > 0 ? -logits[i] : logits[i];
    sum += std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return labels.empty() ? 0 : sum / static_cast<double>(labels.size());
}

}  // namespace plimsoll

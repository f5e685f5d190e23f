#include "tasks/metrics/ranking.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// Removes points that would be drawn less than 1/100 of an axis from the last point kept. The last point is
// always kept. `place` returns the position of a point on the two axes, each 0 .. 1.
template <typename Place>
std::vector<CurvePoint> thin(const Vector<CurvePoint, Tag::columns>& points, Place&& place) {
  constexpr double kStep = 0.01;
  std::vector<CurvePoint> kept;
  CurvePoint last{};
  for (size_t i = 0; i < points.size(); ++i) {
    const CurvePoint at = place(points[i]);
    const bool close = std::abs(at.x - last.x) < kStep && std::abs(at.y - last.y) < kStep;
    if (!kept.empty() && close && i + 1 < points.size()) continue;
    kept.push_back(points[i]);
    last = at;
  }
  return kept;
}

}  // namespace

Ranking::Ranking(std::span<const float> scores, std::span<const uint8_t> truth) {
  ranked_.reserve(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    positives_ += truth[i];
    if (std::isnan(scores[i]))
      ++unknown_;
    else
      ranked_.push_back({scores[i], truth[i]});
  }
  std::ranges::sort(ranked_, std::greater<>(), &Entry::score);
}

template <typename Visit>
void Ranking::descend(Visit&& visit) const {
  int64_t positives = 0;
  for (size_t i = 0; i < ranked_.size();) {
    const float score = ranked_[i].score;
    for (; i < ranked_.size() && ranked_[i].score == score; ++i) positives += ranked_[i].truth;
    visit(positives, static_cast<int64_t>(i) - positives);
  }
}

std::optional<double> Ranking::auc() const {
  if (!is_defined()) return std::nullopt;
  double doubled = 0;  // Exact, because it is a sum of whole numbers.
  int64_t last_positives = 0;
  int64_t last_negatives = 0;
  descend([&](int64_t positives, int64_t negatives) {
    doubled +=
        static_cast<double>(negatives - last_negatives) * static_cast<double>(positives + last_positives);
    last_positives = positives;
    last_negatives = negatives;
  });
  return doubled / (2 * static_cast<double>(positives_) * static_cast<double>(negatives()));
}

std::optional<double> Ranking::average_precision() const {
  if (!is_defined()) return std::nullopt;
  double sum = 0;
  int64_t last = 0;
  descend([&](int64_t positives, int64_t negatives) {
    sum += static_cast<double>(positives - last) * static_cast<double>(positives) /
           static_cast<double>(positives + negatives);
    last = positives;
  });
  return sum / static_cast<double>(positives_);
}

std::vector<CurvePoint> Ranking::roc(double min_rate) const {
  if (!is_defined()) return {};
  Vector<CurvePoint, Tag::columns> points;
  points.reserve(ranked_.size() + 1);
  points.push_back({0, 0});
  descend([&](int64_t positives, int64_t negatives) {
    points.push_back({static_cast<double>(negatives) / static_cast<double>(this->negatives()),
                      static_cast<double>(positives) / static_cast<double>(positives_)});
  });
  const double decades = -std::log10(min_rate);
  return thin(points, [&](const CurvePoint& at) {
    return CurvePoint{1 + std::log10(std::max(at.x, min_rate)) / decades, at.y};
  });
}

std::vector<CurvePoint> Ranking::precision_recall() const {
  if (!is_defined()) return {};
  Vector<CurvePoint, Tag::columns> points;
  points.reserve(ranked_.size());
  descend([&](int64_t positives, int64_t negatives) {
    points.push_back({static_cast<double>(positives) / static_cast<double>(positives_),
                      static_cast<double>(positives) / static_cast<double>(positives + negatives)});
  });
  return thin(points, [](const CurvePoint& at) { return at; });
}

ScoreHistogram Ranking::histogram(int bins, std::span<const float> levels) const {
  ScoreHistogram histogram;
  if (ranked_.empty()) return histogram;
  // Infinite scores are counted in the outer bins.
  const auto is_finite = [](const Entry& entry) { return std::isfinite(entry.score); };
  const auto first = std::ranges::find_if(ranked_, is_finite);
  const auto last = std::find_if(ranked_.rbegin(), ranked_.rend(), is_finite);
  if (first != ranked_.end()) {
    const size_t outer = ranked_.size() / 200;
    histogram.high = std::min<double>(ranked_[outer].score, first->score);
    histogram.low = std::max<double>(ranked_[ranked_.size() - 1 - outer].score, last->score);
  }
  for (const float level : levels) {
    histogram.low = std::min(histogram.low, static_cast<double>(level));
    histogram.high = std::max(histogram.high, static_cast<double>(level));
  }
  if (histogram.high == histogram.low) histogram.high = histogram.low + 1;
  histogram.negatives.resize(static_cast<size_t>(bins));
  histogram.positives.resize(static_cast<size_t>(bins));
  const double scale = bins / (histogram.high - histogram.low);
  for (const Entry& entry : ranked_) {
    const double bin =
        std::clamp((static_cast<double>(entry.score) - histogram.low) * scale, 0.0, bins - 1.0);
    ++(entry.truth != 0 ? histogram.positives : histogram.negatives)[static_cast<size_t>(bin)];
  }
  return histogram;
}

}  // namespace plimsoll

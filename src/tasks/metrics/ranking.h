#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

/// A point of a curve, such as false-positive rate and recall.
struct CurvePoint {
  double x;
  double y;
};

/// Number of scores in each of several equally wide bins from `low` to `high`. A score outside this range is
/// counted in the nearest bin.
struct ScoreHistogram {
  double low = 0;
  double high = 0;
  std::vector<int64_t> negatives;
  std::vector<int64_t> positives;
};

/// Scores with their truth, highest first, for computing areas and curves. Equal scores are one step.
/// Definitions are those of scikit-learn's roc_auc_score, average_precision_score, roc_curve and
/// precision_recall_curve. A metric that needs a class that is absent is undefined; if a score is NaN,
/// everything except the histogram is undefined.
class Ranking {
 public:
  static constexpr int64_t kBytesPerScore = 8;  ///< Bytes held per score.
  /// `truth` holds 0 and 1 and is as long as `scores`. Errors: BudgetExceeded.
  Ranking(std::span<const float> scores, std::span<const uint8_t> truth);

  int64_t size() const { return std::ssize(ranked_) + unknown_; }
  int64_t positives() const { return positives_; }
  /// Area under the ROC curve, where ties count half (Mann & Whitney 1947).
  std::optional<double> auc() const;
  /// The sum of (R[n] - R[n-1]) P[n] over the distinct scores, not interpolated.
  std::optional<double> average_precision() const;

  /// Returns false-positive rate and recall from (0, 0) to (1, 1), thinned to about 200 points. `min_rate`,
  /// above 0 and below 1, is where a logarithmic axis will start. Empty if a class is absent. Needs up to 16
  /// bytes per score while it runs. Errors: BudgetExceeded.
  std::vector<CurvePoint> roc(double min_rate) const;
  /// Returns recall and precision from the highest score on, thinned in the same way. Its needs and errors
  /// are those of roc().
  std::vector<CurvePoint> precision_recall() const;
  /// Returns `bins` bins over all scores except the outermost 0.5 % at each end, widened to include `levels`.
  /// Scores and levels must be finite; NaN scores are left out.
  ScoreHistogram histogram(int bins, std::span<const float> levels) const;

 private:
  struct Entry {
    float score;
    uint8_t truth;
  };
  static_assert(sizeof(Entry) == kBytesPerScore);
  int64_t negatives() const { return size() - positives_; }
  bool is_defined() const { return unknown_ == 0 && positives_ > 0 && negatives() > 0; }
  // Calls visit(true positives, false positives) for each distinct score, with the counts at a threshold just
  // below it.
  template <typename Visit>
  void descend(Visit&& visit) const;

  Vector<Entry, Tag::columns> ranked_;
  int64_t positives_ = 0;
  int64_t unknown_ = 0;  // Number of NaN scores, which cannot be ordered and are not in ranked_.
};

}  // namespace plimsoll

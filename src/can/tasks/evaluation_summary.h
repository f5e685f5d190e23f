#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "can/tasks/evaluation.h"

namespace plimsoll {

/// The numeric metrics of a detector; the JSON, the table and the report share this list.
enum class Figure : uint8_t {
  f1,
  precision,
  recall,
  fpr,
  auc,
  pr_auc,
  mcc,
  balanced_accuracy,
  delay_frames,
  delay_milliseconds,
  false_alarms_per_hour,
};
inline constexpr size_t kFigures = 11;
const char* figure_key(Figure figure);  ///< The key in JSON, such as "f1".
/// The value of a metric; none if it is undefined, for instance because a class is absent.
std::optional<double> value_of(Figure figure, const DetectorFigures& figures);

/// A metric over the seeds at which it is defined.
struct Spread {
  double mean = 0;
  std::optional<double> deviation;  ///< Sample standard deviation (n - 1); undefined for one seed.
  int64_t seeds = 0;
};

/// The metrics of a detector over its seeds at one threshold.
struct DetectorSummary {
  std::string name;
  bool rule = false;
  double target_rate = 0;
  std::vector<int64_t> seeds;
  std::array<std::optional<Spread>, kFigures> figures;
  int64_t attacked = 0;  ///< Recordings with attacks, over all seeds.
  int64_t missed = 0;    ///< Attacked recordings in which nothing was flagged in time.

  const std::optional<Spread>& at(Figure figure) const { return figures[static_cast<size_t>(figure)]; }
  /// Whether `other` is the same detector at a threshold of the same rate.
  bool is_of(const DetectorFigures& other) const {
    return name == other.name && target_rate == other.threshold.target_rate;
  }
};

/// One summary for each name and rate, in the order in which they first occur.
std::vector<DetectorSummary> summarise(const std::vector<DetectorFigures>& detectors);

/// The summary at the lowest rate for each name.
std::vector<DetectorSummary> summarise_strictest(const std::vector<DetectorFigures>& detectors);

/// The summary of the detector that `plimsoll detect` runs, at the lowest rate: the fused score, otherwise
/// the student's, otherwise the classifier's. Null if there is none.
const DetectorSummary* find_deployed(const std::vector<DetectorSummary>& detectors);

/// A label such as "gat at 0.1 %" or "unknown_id".
std::string label_of(const DetectorSummary& summary);

}  // namespace plimsoll

#include "engine/fit/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace plimsoll {
namespace {

constexpr double kBetterBy = 1e-4;  // Relative improvement of the best loss that counts as better, as in
                                    // torch.

// Counts the sequences of more than `patience` epochs without an improvement.
int64_t plateaus(std::span<const EpochMetrics> epochs, int64_t patience) {
  double best = std::numeric_limits<double>::infinity();
  int64_t worse = 0;
  int64_t count = 0;
  for (const EpochMetrics& epoch : epochs) {
    if (epoch.validation_loss < best * (1 - kBetterBy) || std::isinf(best)) {
      best = epoch.validation_loss;
      worse = 0;
    } else if (++worse > patience) {
      ++count;
      worse = 0;
    }
  }
  return count;
}

}  // namespace

Schedule::Schedule(const TrainingSection& training) : training_(training) {}

double Schedule::factor(std::span<const EpochMetrics> epochs) const {
  const auto done = static_cast<int64_t>(epochs.size());
  const auto reduced = [&](int64_t times) {
    return std::pow(training_.schedule_factor, static_cast<double>(times));
  };
  if (training_.schedule == ScheduleKind::step) return reduced(done / training_.schedule_epochs);
  if (training_.schedule == ScheduleKind::plateau)
    return reduced(plateaus(epochs, training_.schedule_epochs));
  if (training_.schedule == ScheduleKind::constant) return 1;
  const int64_t all = std::max<int64_t>(training_.max_epochs - training_.warm_up_epochs, 1);
  return (1 + std::cos(std::numbers::pi * static_cast<double>(done) / static_cast<double>(all))) / 2;
}

double Schedule::rate(std::span<const EpochMetrics> done, double progress) const {
  const auto warm_up = static_cast<size_t>(training_.warm_up_epochs);
  if (done.size() < warm_up)
    return training_.learning_rate * (static_cast<double>(done.size()) + progress) /
           static_cast<double>(warm_up);
  return training_.learning_rate * factor(done.subspan(warm_up));
}

}  // namespace plimsoll

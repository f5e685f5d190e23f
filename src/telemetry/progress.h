#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace plimsoll {

/// Longer estimates of the remaining time are not shown, because they come from the slow rate of a start.
inline constexpr double kMaxEstimateSeconds = 100 * 3600.0;

/// A progress line on stderr in tqdm's format: a bar on a terminal, elsewhere a plain line every 30 s. It may
/// be updated at any rate. The bar is redrawn only a few times per second. Not thread-safe.
class Progress {
 public:
  enum class Unit { count, bytes };
  /// `title` is the first text of the line; `what` follows the counts, such as "graphs".
  Progress(std::string title, std::string what, Unit unit = Unit::count);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows how much is done. `total` is 0 if it is unknown. `note`, such as "loss=0.12", is shown after the
  /// rate.
  void update(int64_t done, int64_t total, const std::string& note = "");

 private:
  void draw(int64_t done, int64_t total, const std::string& note, double elapsed);

  using Clock = std::chrono::steady_clock;
  std::string title_;
  std::string what_;
  Unit unit_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace plimsoll

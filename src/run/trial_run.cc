#include "run/trial_run.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <sstream>

#include "base/error.h"
#include "base/seconds.h"
#include "io/file.h"
#include "run/train_run.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// A temporary folder, removed by the destructor.
class TrialFolder {
 public:
  explicit TrialFolder(const fs::path& scratch)
      : path_(scratch / ("plimsoll-trial-" + std::to_string(::getpid()))) {}
  ~TrialFolder() { FileSystem::disk().remove_tree(path_); }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Measures the speed of a stage, and stops it after some seconds.
class SpeedMeter final : public RunObserver {
 public:
  // `interrupt` also stops the stage; may be null.
  SpeedMeter(double seconds, const std::atomic<bool>* interrupt) : seconds_(seconds), interrupt_(interrupt) {}

  void on_progress(int64_t done, int64_t, const std::string&) override {
    last_ = Clock::now();
    last_done_ = done;
    if (first_done_ < 0) {
      first_ = last_;
      first_done_ = done;
    }
    stop_ = (elapsed() >= seconds_ && last_done_ > first_done_) || was_interrupted();
  }

  bool was_interrupted() const { return interrupt_ != nullptr && *interrupt_; }
  const std::atomic<bool>& stop() const { return stop_; }
  // Graphs per second; 0 if too few steps were done.
  double rate() const {
    if (last_done_ <= first_done_ || elapsed() <= 0) return 0;
    return static_cast<double>(last_done_ - first_done_) / elapsed();
  }

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(last_ - first_).count(); }

  const double seconds_;
  const std::atomic<bool>* const interrupt_;
  std::atomic<bool> stop_ = false;
  Clock::time_point first_{}, last_{};
  int64_t first_done_ = -1, last_done_ = -1;
};

// Reads the first line of the first stage's journal.
void read_counts(const fs::path& folder, TrialRun& trial) {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->path().filename() != "events.jsonl") continue;
    std::istringstream text(read_text(at->path()));
    std::string line;
    std::getline(text, line);
    const Json start = parse_json(line);
    if (!start.is_object() || !start.contains("training") || !start.contains("validation")) continue;
    trial.training = start["training"].get<int64_t>();
    trial.validation = start["validation"].get<int64_t>();
  }
}

}  // namespace

TrialRun try_run(const RunRequest& request, double seconds, const fs::path& scratch) {
  const TrialFolder folder(scratch);
  SpeedMeter meter(seconds, request.interrupt);
  RunRequest trial = request;
  trial.folder = folder.path();
  trial.resume = trial.force = false;
  trial.seeds = 1;
  trial.recipe.run.trackers.clear();  // A trial is not a run that trackers should show.
  trial.trackers = nullptr;
  trial.interrupt = &meter.stop();
  trial.observer = &meter;
  TrialRun found;
  try {
    found.seconds = train_run(trial).seconds;
  } catch (const Interrupted&) {
    if (meter.was_interrupted()) throw;
  }
  read_counts(folder.path(), found);
  found.graphs_per_s = meter.rate();
  return found;
}

double expected_seconds(const StagePlans& plans, const TrialRun& trial, int64_t epochs) {
  if (trial.seconds > 0 && plans.size() == 1) return trial.seconds;
  const double planned = plans.front().second.execution.graphs_per_s;
  if (trial.graphs_per_s == 0) return 0;
  const double graphs = static_cast<double>(epochs) *
                        (static_cast<double>(trial.training) + 0.5 * static_cast<double>(trial.validation));
  double seconds = graphs / trial.graphs_per_s;
  for (size_t i = 1; i < plans.size(); ++i) {
    const double rate = plans[i].second.execution.graphs_per_s;
    if (rate == 0 || planned == 0) return 0;
    seconds += graphs / rate * (planned / trial.graphs_per_s);
  }
  return seconds;
}

}  // namespace plimsoll

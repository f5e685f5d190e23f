#include "run/trial_run.h"

#include <unistd.h>

#include <chrono>
#include <sstream>

#include "base/error.h"
#include "base/seconds.h"
#include "io/file.h"

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

TrialRun try_run(const TrainRequest& request, double seconds, const fs::path& scratch) {
  const TrialFolder folder(scratch);
  std::atomic<bool> stop = false;
  const std::atomic<bool>* const own = request.run.interrupt;
  std::chrono::steady_clock::time_point first{}, last{};
  int64_t done_first = -1, done_last = -1;
  TrainRequest trial = request;
  trial.folder = folder.path();
  trial.resume = trial.force = false;
  trial.seeds = 1;
  trial.run.interrupt = &stop;
  trial.progress_of = [&](const std::string&, const char*) {
    return [&](int64_t done, int64_t, const std::string&) {
      last = std::chrono::steady_clock::now();
      done_last = done;
      if (done_first < 0) {
        first = last;
        done_first = done;
      }
      const double elapsed = std::chrono::duration<double>(last - first).count();
      stop = (elapsed >= seconds && done_last > done_first) || (own != nullptr && *own);
    };
  };
  TrialRun found;
  try {
    found.seconds = train_run(trial).seconds;
  } catch (const Interrupted&) {
    if (own != nullptr && *own) throw;
  }
  read_counts(folder.path(), found);
  const double elapsed = std::chrono::duration<double>(last - first).count();
  if (done_last > done_first && elapsed > 0)
    found.graphs_per_s = static_cast<double>(done_last - done_first) / elapsed;
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

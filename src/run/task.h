#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/evaluation.h"
#include "run/predictions.h"
#include "run/run_stages.h"
#include "run/training_data.h"

namespace plimsoll {

/// What to train on, and with what.
struct TrainingInput {
  std::filesystem::path data;
  Recipe recipe;
  int threads = 1;                     ///< that read the shapes of graphs
  ScratchSpace scratch = {};           ///< for coming blocks of one giant graph
  bool on_device = false;              ///< blocks run on a GPU, or are planned for one: as RunOptions says
  std::filesystem::path teacher = {};  ///< a model file that takes the place of a trained teacher
};

/// A task on one data set, opened to train.
class Training {
 public:
  virtual ~Training() = default;

  virtual const TrainingData& data() const = 0;
  /// The stages of one seed, in the order in which they run; its files are in `folder`. They must not outlive
  /// this.
  virtual std::vector<Stage> stages(int64_t seed, const std::filesystem::path& folder) const = 0;
  /// What is trained, and on what, in words.
  virtual std::string model() const = 0;
  virtual std::string trained_on() const = 0;
  /// Completes what stages have left that trained a model, when no stage runs any more, and gives the one
  /// whose model the run is about; null where that is not among them. What it has of the data set may be
  /// given up.
  virtual const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder& folder,
                                     const RunOptions& run) = 0;
};

/// What a recipe can ask for. Immutable.
class Task {
 public:
  virtual ~Task() = default;

  /// Whether it is trained for several seeds in one run.
  virtual bool takes_seeds() const { return false; }
  /// Whether TrainingInput::teacher is for it.
  virtual bool takes_teacher() const { return false; }
  /// Whether a run can be given more epochs and resumed.
  virtual bool can_be_made_longer() const { return true; }
  /// Errors: UsageError for data or a recipe that is not for this task; InputError; those of TrainingData.
  virtual std::unique_ptr<Training> open(TrainingInput input) const = 0;
  /// Judges what a run has trained; in a rehearsal the findings mean nothing. Errors: UsageError, InputError,
  /// BudgetTooSmall.
  virtual Findings evaluate(const RunEvaluation& asked) const = 0;
  /// Asks the model of a run about data that nobody has labelled, and writes what it says; in a rehearsal
  /// nothing appears. Returns how many rows. Errors: likewise.
  virtual int64_t predict(const PredictionRequest& request) const = 0;
};

/// A task, and its name in recipes.
struct NamedTask {
  const char* name;
  const Task& (*find)();
};

/// Makes tasks known to find_task(). A program calls it once when it starts (cli/known_tasks.h), before other
/// threads do.
void register_tasks(std::span<const NamedTask> tasks);

/// The task of this name. Thread-safe. Errors: UsageError.
const Task& find_task(const std::string& name);

/// Errors: UsageError, which says what else to do, unless the data set is of one of these kinds.
void require_kind(const std::filesystem::path& data, const Recipe& recipe,
                  const std::vector<std::string>& kinds);

}  // namespace plimsoll

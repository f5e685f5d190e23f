#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/evaluation.h"
#include "run/predictions.h"
#include "run/recipe_change.h"
#include "run/run_request.h"
#include "run/run_stages.h"
#include "run/training_data.h"

namespace plimsoll {

/// A task that was opened on one data set for training.
class Training {
 public:
  virtual ~Training() = default;

  virtual const TrainingData& data() const = 0;
  /// Returns the stages of one seed, in the order in which they run. The files of the seed are in `folder`.
  /// The stages must not outlive the object.
  virtual std::vector<Stage> stages(int64_t seed, const std::filesystem::path& folder) const = 0;
  /// Returns a text that names the model.
  virtual std::string model() const = 0;
  /// Returns a text that describes the data.
  virtual std::string trained_on() const = 0;
  /// Finishes the run after its last stage. `stages` are those that trained a model. Returns the stage whose
  /// model is the run's result, or null if that stage did not run. It may close the data set.
  virtual const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder& folder,
                                     const RunOptions& run) = 0;
  /// Returns the file to which finish() copies the run's result; empty if it makes no copy.
  virtual std::filesystem::path copy_of_result(const RunFolder& /*folder*/) const { return {}; }
};

/// A task of a recipe. Immutable.
class Task {
 public:
  virtual ~Task() = default;

  /// Whether one run can train several seeds.
  virtual bool takes_seeds() const { return false; }
  /// Whether the task uses RunRequest::teacher.
  virtual bool takes_teacher() const { return false; }
  /// Whether evaluate() can compare with a baseline (RunEvaluation::baseline).
  virtual bool takes_baseline() const { return false; }
  /// Whether a run can be resumed with more epochs.
  virtual bool can_be_made_longer() const { return true; }
  /// Whether it trains one model, whose size is set in the recipe section `gnn` or `paths`.
  virtual bool has_one_model() const { return true; }
  /// Returns changes to the recipe that make its models smaller.
  virtual std::vector<RecipeChange> smaller_models(const Recipe& recipe) const { return smaller_gnn(recipe); }
  /// Opens a data set for training. Errors: UsageError for data or a recipe that does not suit the task;
  /// InputError; those of TrainingData.
  virtual std::unique_ptr<Training> open(RunRequest request) const = 0;
  /// Evaluates the models that a run has trained. In a rehearsal the result is meaningless. Errors:
  /// UsageError, InputError, Failure; BudgetTooSmall or BudgetExceeded if the budget is too small; those of
  /// asked.progress.
  virtual EvaluationResult evaluate(const RunEvaluation& asked) const = 0;
  /// Rehearses evaluate() for a run that is not trained yet, on its training data. Returns false if the task
  /// does not support this. Errors: those of open().
  virtual bool rehearse_evaluation(const RunRequest& /*request*/, Rehearsal& /*rehearsal*/) const {
    return false;
  }
  /// Predicts unlabelled data with the model of a run, and writes the predictions. In a rehearsal nothing is
  /// written. Returns the number of rows. Errors: those of evaluate().
  virtual int64_t predict(const PredictionRequest& request) const = 0;
};

/// A task, and its name in recipes.
struct NamedTask {
  std::string_view name;
  const Task& (*find)();
};

/// Makes these tasks, and no others, available to find_task(). A program calls it once at its start
/// (cli/known_tasks.h), before it starts other threads. Errors: Failure for a name that task_names() does not
/// have.
void register_tasks(std::span<const NamedTask> tasks);

/// Returns the task with this name, which exists until the program ends. Thread-safe. Errors: UsageError if
/// no registered task has the name.
const Task& find_task(std::string_view name);

/// Returns the names of the tasks for which `takes` returns true, separated by commas.
std::string tasks_that(bool (Task::*takes)() const);

/// Throws UsageError with a remedy if the data set is not of one of these kinds. Errors: also those of
/// kind_of().
void require_kind(const std::filesystem::path& data, const Recipe& recipe,
                  const std::vector<std::string>& kinds);

}  // namespace plimsoll

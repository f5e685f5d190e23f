#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/recipe.h"
#include "io/file_system.h"
#include "run/run_lock.h"

namespace plimsoll {

/// The paths in the folder of a run (docs/formats/run.md).
struct RunFolder {
  /// Folders of the stages of the task tree_classification.
  static constexpr const char* kPretrain = "pretrain";
  static constexpr const char* kFineTune = "fine_tune";
  static constexpr const char* kScratch = "scratch";

  std::filesystem::path root;

  std::filesystem::path recipe() const { return root / "recipe.yaml"; }
  std::filesystem::path manifest() const { return root / "manifest.json"; }
  std::filesystem::path evaluation() const { return root / "evaluation.json"; }
  std::filesystem::path report() const { return root / "report.html"; }
  std::filesystem::path seed(int64_t number) const { return root / ("seed-" + std::to_string(number)); }
  /// Returns the folder of the stage whose model is the run's result, for tasks that train a GNN.
  std::filesystem::path stage(const Recipe& r) const {
    return seed(r.seed) / (r.task == kTreeClassification ? kFineTune : "gnn");
  }
  std::filesystem::path model(const Recipe& r) const { return stage(r) / "model.safetensors"; }
};

/// Returns the checkpoints of all stages of a run, in no particular order.
std::vector<std::filesystem::path> checkpoints_of(const RunFolder& folder,
                                                  FileSystem& files = FileSystem::disk());

/// Returns whether a stage has written a checkpoint or a column from which the run can continue.
bool has_results(const RunFolder& folder, FileSystem& files = FileSystem::disk());

/// Returns whether the folder holds a run, finished or not: its manifest is that of a run, or there are
/// checkpoints. Errors: Failure if the manifest cannot be read.
bool holds_a_run(const RunFolder& folder, FileSystem& files = FileSystem::disk());

/// Makes the folder of a new run and holds its lock (run_lock.h). An existing run is renamed; commit()
/// deletes it. Without commit() the destructor removes the new folder and restores the old one. Not
/// thread-safe. Errors: Failure.
class NewRun {
 public:
  /// Errors: Failure if a trainer has locked the existing run, if the folder holds a run and `force` is
  /// false, if it holds other files, or if a file operation fails.
  NewRun(const RunFolder& folder, bool force, FileSystem& files = FileSystem::disk());
  ~NewRun();
  NewRun(const NewRun&) = delete;
  NewRun& operator=(const NewRun&) = delete;

  /// Keeps the new run, and deletes the old one. Errors: Failure if the old run cannot be deleted; the new
  /// one is kept even then.
  void commit();

 private:
  [[noreturn]] void refuse_existing_run() const;
  bool exchange_for_new();
  void rename_and_make_new();
  void put_back();
  void remove_new(const std::filesystem::path& folder);

  FileSystem& files_;
  std::filesystem::path root_;
  std::unique_ptr<RunLock> lock_;
  std::unique_ptr<RunLock> lock_of_old_;
  std::filesystem::path aside_;              // New path of the old run; empty if there was none.
  std::vector<std::filesystem::path> made_;  // Folders created for the new run.
  bool committed_ = false;
};

}  // namespace plimsoll

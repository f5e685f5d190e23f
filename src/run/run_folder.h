#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/recipe.h"
#include "io/file_system.h"
#include "run/run_lock.h"

namespace plimsoll {

/// Where things stand in the folder of a run (docs/formats/run.md).
struct RunFolder {
  /// Stages of task tree_classification.
  static constexpr const char* kPretrain = "pretrain";
  static constexpr const char* kFineTune = "fine_tune";
  static constexpr const char* kScratch = "scratch";

  std::filesystem::path root;

  std::filesystem::path recipe() const { return root / "recipe.yaml"; }
  std::filesystem::path manifest() const { return root / "manifest.json"; }
  std::filesystem::path evaluation() const { return root / "evaluation.json"; }
  std::filesystem::path report() const { return root / "report.html"; }
  std::filesystem::path detector() const { return root / "detector.safetensors"; }
  std::filesystem::path seed(int64_t number) const { return root / ("seed-" + std::to_string(number)); }
  /// The stage whose model a run is about, of tasks of the GNN.
  std::filesystem::path stage(const Recipe& r) const {
    return seed(r.seed) / (r.task == "tree_classification" ? kFineTune : "gnn");
  }
  std::filesystem::path model(const Recipe& r) const { return stage(r) / "model.safetensors"; }
};

/// The checkpoints of all stages of a run, in no order.
std::vector<std::filesystem::path> checkpoints_of(const RunFolder& folder,
                                                  FileSystem& files = FileSystem::disk());

/// Whether a stage has left a checkpoint or a column, which later ones go on from.
bool has_results(const RunFolder& folder, FileSystem& files = FileSystem::disk());

/// Whether the folder holds a run, finished or not: its manifest says so, or there are checkpoints.
bool holds_a_run(const RunFolder& folder, FileSystem& files = FileSystem::disk());

/// Makes the folder of a new run and has its lock (run_lock.h). A run that was there is put aside and deleted
/// by commit(); without commit() the destructor removes what is new and puts the old one back. Not
/// thread-safe. Errors: Failure.
class NewRun {
 public:
  /// Errors also when a trainer has the run that is there, when the folder holds a run and `force` is not
  /// given, or when it holds something that is no run.
  NewRun(const RunFolder& folder, bool force, FileSystem& files = FileSystem::disk());
  ~NewRun();
  NewRun(const NewRun&) = delete;
  NewRun& operator=(const NewRun&) = delete;

  void commit();

 private:
  [[noreturn]] void refuse_the_old() const;
  bool exchange_for_new();
  void rename_and_make_new();
  void put_back();
  void remove_new(const std::filesystem::path& folder);

  FileSystem& files_;
  std::filesystem::path root_;
  std::unique_ptr<RunLock> lock_;
  std::unique_ptr<RunLock> lock_of_old_;
  std::filesystem::path aside_;  // empty when nothing was there
  std::vector<std::filesystem::path> made_;
  bool committed_ = false;
};

}  // namespace plimsoll

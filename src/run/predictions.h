#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/recipe.h"
#include "engine/blocks/exchange.h"
#include "engine/blocks/training_device.h"
#include "engine/plan/rehearsal.h"
#include "io/file.h"
#include "memory/memory_share.h"
#include "run/run_folder.h"
#include "store/data_set.h"

namespace plimsoll {

/// A request to predict unlabelled data with a trained run.
struct PredictionRequest {
  RunFolder folder;
  Recipe recipe = {};  ///< Recipe of the run.
  std::filesystem::path data;
  std::filesystem::path out;
  /// For one giant graph: a file that lists the nodes to predict; empty: all nodes.
  std::filesystem::path nodes = {};
  bool force = false;       ///< Replace an existing output.
  bool embeddings = false;  ///< Also write the input of the last layer.
  bool csv = false;         ///< Write predictions.csv in addition to the columns.
  MemoryShare memory = {};
  /// Connects the ranks that predict together; only rank 0 writes. Null if there is one process.
  Exchange* exchange = nullptr;
  TrainingDevice* device = nullptr;  ///< Device that runs blocks; null: the CPU.
  /// If set, it receives the budget that prediction needs, and nothing is written; null: predict.
  Rehearsal* rehearsal = nullptr;
  /// Lifts the limits that hold the process to the budget. Called when the budget is too small, before the
  /// smallest budget that works is computed.
  std::function<void()> release = [] {};
  /// Called repeatedly. It may throw to stop the prediction.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// Writes a data set of kind `predictions` (docs/formats/predictions.md), with one row per graph or node of
/// the data. The columns are `class` i64 and `probability` f32 [rows, classes] for a classifier,
/// `probability` f32 [rows, labels] for a model with several labels, `destination` i64 [rows, k] and `score`
/// f32 [rows, k] for recommendations, the best first, and `value` f32 [rows, values] for other models; a
/// model of Kind::embeddings_alone has none of these; also `embedding` f32 [rows, width] if it is requested,
/// and `node` i64 [rows] if only some nodes are predicted. Ranks other than 0 write nothing. Not thread-safe.
class PredictionWriter {
 public:
  /// Kind of the model's outputs for a row.
  enum class Kind { classes, labels, values, recommendations, embeddings_alone };
  struct Widths {
    Kind kind = Kind::classes;
    /// Number of classes, labels or values, or twice the length of a list of recommendations: its nodes, then
    /// their scores.
    int64_t outputs = 0;
    int64_t embedding = 0;                      ///< Width of an embedding; 0: embeddings are not written.
    std::vector<std::string> class_names = {};  ///< Class names by class number; may be empty.
  };
  /// Returns the source's name for the node of a row, for the CSV; null if rows are not nodes of one giant
  /// graph.
  using Name = std::function<std::string(int64_t row)>;
  /// `nodes` has the node of each row. If it is empty, row i is node i. `request` must outlive the writer.
  /// Errors: those of DataSetWriter.
  PredictionWriter(const PredictionRequest& request, const Widths& widths, Name node = nullptr,
                   std::span<const int64_t> nodes = {});

  /// Appends rows that consist of the model's outputs, which are logits for classes and labels, followed by
  /// the embedding. Errors: Failure.
  void append(std::span<const float> rows);
  /// Does the same for rows whose outputs and embeddings are in separate arrays.
  void append(std::span<const float> outputs, std::span<const float> embeddings);
  /// Completes the data set and makes it visible. Call it once. `items` names the items of the rows, such as
  /// "nodes"; `data` is the identity of the predicted data set. Returns the number of rows. Errors: Failure.
  int64_t publish(const std::string& items, const Json& data);

 private:
  void open_columns();
  std::string csv_header() const;
  size_t listed() const;
  void append_row(std::span<const float> outputs, std::span<const float> embedding);
  void write_text(size_t min);

  const PredictionRequest& request_;
  const Widths widths_;
  const Name node_;
  std::vector<float> row_;            // Outputs of a row.
  std::optional<DataSetWriter> set_;  // Set on rank 0.
  NpyWriter* class_ = nullptr;
  NpyWriter* destination_ = nullptr;
  NpyWriter* outputs_ = nullptr;
  NpyWriter* embedding_ = nullptr;
  std::optional<File> csv_;
  std::string text_;  // CSV text that has not been written to the file yet.
  int64_t rows_ = 0;
};

}  // namespace plimsoll

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
#include "run/run_folder.h"
#include "store/data_set.h"

namespace plimsoll {

/// What a trained run is asked about data that nobody has labelled.
struct PredictionRequest {
  RunFolder folder;
  Recipe recipe = {};  ///< of the run
  std::filesystem::path data;
  std::filesystem::path out;
  bool force = false;       ///< replaces an output that exists
  bool embeddings = false;  ///< what the last layer reads, too
  bool csv = false;         ///< predictions.csv beside the columns, for people
  int threads = 1;
  int64_t budget = 0;            ///< bytes; 0: none
  int64_t outside_ledger = 0;    ///< bytes of the budget that the ledger does not have
  Exchange* exchange = nullptr;  ///< with the ranks that predict together, of which rank 0 writes; null: none
  TrainingDevice* device = nullptr;  ///< blocks run there; null: on the CPU
  Rehearsal* rehearsal = nullptr;    ///< learns which budget that needs; null: it is no rehearsal
  /// Ends what holds the process to the budget, before a refusal is explained.
  std::function<void()> release = [] {};
  /// Called now and then; may throw to end it.
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};
};

/// Writes a data set of kind `predictions` (docs/formats/predictions.md), a row for each graph, window or
/// node of the data: columns `class` i64 and `probability` f32 [rows, classes] of a classifier, `value` f32
/// [rows, values] of what is no class, and `embedding` f32 [rows, width]; ranks other than 0 write
/// nothing. Not thread-safe.
class PredictionWriter {
 public:
  /// What a model says of a row.
  enum class Kind { classes, values, embeddings_alone };
  struct Widths {
    Kind kind = Kind::classes;
    int64_t outputs = 0;    ///< logits of classes, or values
    int64_t embedding = 0;  ///< numbers of an embedding; 0: none are written
  };
  /// `node` tells what the source calls the node of a row, for the CSV; null where rows are no such nodes.
  using Name = std::function<std::string(int64_t row)>;
  PredictionWriter(const PredictionRequest& request, const Widths& widths, Name node = nullptr);

  /// The next rows, of outputs, then embedding.
  void append(std::span<const float> rows);
  /// The next rows, apart.
  void append(std::span<const float> outputs, std::span<const float> embeddings);
  /// Makes the data set appear. `items`: what rows are.
  int64_t publish(const std::string& items, const Json& data);

 private:
  void append_row(std::span<const float> outputs, std::span<const float> embedding);
  void write_text(size_t min);

  const PredictionRequest& request_;
  const Widths widths_;
  const Name node_;
  std::vector<float> row_;            // of outputs
  std::optional<DataSetWriter> set_;  // of rank 0
  NpyWriter* class_ = nullptr;
  NpyWriter* outputs_ = nullptr;
  NpyWriter* embedding_ = nullptr;
  std::optional<File> csv_;
  std::string text_;  // of the CSV, not written yet
  int64_t rows_ = 0;
};

}  // namespace plimsoll

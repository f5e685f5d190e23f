#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "base/json.h"
#include "engine/fit/loss_scale.h"
#include "memory/ledger.h"
#include "memory/vector.h"
#include "store/safetensors.h"

namespace plimsoll {

/// What an epoch cost beside its seconds. Bytes, but for what is said otherwise; seconds are those of all
/// workers together.
struct EpochCost {
  double graphs_per_s = 0;            ///< that trained or validated
  int64_t planned = 0;                ///< the peak of the process
  int64_t anonymous = 0;              ///< the most that was seen of the process between two steps
  int64_t cgroup = 0;                 ///< what its group is charged at the epoch's end; 0: unknown
  int64_t page_cache = 0;             ///< mapped file pages of the process at the epoch's end
  int64_t ledger = 0;                 ///< the peak
  std::array<int64_t, kTags> tags{};  ///< peaks of the ledger
  double waited_reading_s = 0;
  double waited_memory_s = 0;
  double waited_order_s = 0;  ///< for older blocks to be added
  int64_t reruns = 0;         ///< blocks
  int64_t bytes_read = 0;     ///< of rows of features
};

/// One epoch of training, as it goes to metrics.csv.
struct EpochMetrics {
  int64_t epoch = 0;
  double training_loss = 0;
  double validation_loss = 0;
  double gradient_norm = 0;  ///< mean over the steps, before clipping
  double seconds = 0;
  double learning_rate = 0;  ///< of the last step
  EpochCost cost = {};
};

/// Calls visit(name, value) for each, in the order of the columns of metrics.csv.
template <typename Metrics, typename Visit>
void visit_metrics(Metrics& metrics, const Visit& visit) {
  visit("epoch", metrics.epoch);
  visit("training_loss", metrics.training_loss);
  visit("validation_loss", metrics.validation_loss);
  visit("gradient_norm", metrics.gradient_norm);
  visit("learning_rate", metrics.learning_rate);
  visit("seconds", metrics.seconds);
  auto& cost = metrics.cost;
  visit("graphs_per_s", cost.graphs_per_s);
  visit("planned_bytes", cost.planned);
  visit("anonymous_bytes", cost.anonymous);
  visit("cgroup_bytes", cost.cgroup);
  visit("page_cache_bytes", cost.page_cache);
  visit("ledger_bytes", cost.ledger);
  for (size_t tag = 0; tag < cost.tags.size(); ++tag)
    visit(std::string("ledger_") + tag_name(static_cast<Tag>(tag)) + "_bytes", cost.tags[tag]);
  visit("waited_reading_s", cost.waited_reading_s);
  visit("waited_memory_s", cost.waited_memory_s);
  visit("waited_order_s", cost.waited_order_s);
  visit("reruns", cost.reruns);
  visit("bytes_read", cost.bytes_read);
}

/// {name: value} of each. A loss that is not finite becomes null.
Json metrics_json(const EpochMetrics& metrics);
/// Replaces `path` by the metrics.csv of these epochs. Errors: as replace_file()'s.
void write_metrics_csv(const std::filesystem::path& path, std::span<const EpochMetrics> epochs);

/// Epochs that a run makes room for before it starts; of more the memory grows while it trains.
inline constexpr int64_t kEpochsWithRoom = 10'000;

/// Replaces `epochs` by those of a checkpoint's tensor, which has them as they are in memory: a row of 8-byte
/// numbers each. Errors: InputError where it does not have `count` rows of the same numbers.
void read_epochs(const TensorSpan& tensor, int64_t count, Vector<EpochMetrics, Tag::output>& epochs);
inline constexpr int64_t kNumbersOfAnEpoch = sizeof(EpochMetrics) / sizeof(int64_t);

/// Where a run stands between two steps.
struct Position {
  int64_t epoch = 1;
  int64_t step = 0;          ///< of the epoch, done
  EpochMetrics so_far = {};  ///< sums over the steps of the epoch that are done
  int64_t best_epoch = 0;    ///< 0: none yet
  double best_loss = std::numeric_limits<double>::infinity();
  Vector<EpochMetrics, Tag::output> epochs = {};  ///< that are done
  LossScale scale = {};                           ///< of training.precision 16-mixed
};

/// A position but for its epochs, and the steps that the optimizer has done, as text for metadata
/// "plimsoll.position".
std::string position_text(const Position& position, int64_t optimizer_steps);

struct ReadPosition {
  Position position;
  int64_t optimizer_steps;
};

/// From a file's metadata "plimsoll.position", without epochs. Errors: InputError that names the file and
/// what is missing, of another type, or impossible.
ReadPosition read_position(const SafetensorsView& file);
/// From position_text().
ReadPosition read_position(const std::string& text);

}  // namespace plimsoll

#pragma once

#include <array>
#include <cstddef>
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

/// The cost of an epoch in addition to its seconds. Sizes are in bytes; waiting times are sums over all
/// workers.
struct EpochCost {
  double graphs_per_s = 0;            ///< Graphs trained or validated per second.
  int64_t planned = 0;                ///< Planned peak of the process.
  int64_t anonymous = 0;              ///< Maximum anonymous memory of the process, sampled between steps.
  int64_t cgroup = 0;                 ///< Bytes charged to the process's cgroup at the end of the epoch; 0:
                                      ///< unknown.
  int64_t page_cache = 0;             ///< Mapped file pages of the process at the end of the epoch.
  int64_t ledger = 0;                 ///< Peak of the ledger.
  std::array<int64_t, kTags> tags{};  ///< Peaks of the ledger by tag.
  double waited_reading_s = 0;
  double waited_memory_s = 0;
  double waited_order_s = 0;  ///< Time spent waiting for older blocks to be added.
  int64_t reruns = 0;         ///< Number of blocks that ran again.
  int64_t bytes_read = 0;     ///< Bytes of feature rows read.
  // On a device; 0 without one. Checkpoints of versions without devices do not have the members from here on.
  int64_t device_planned = 0;  ///< Planned peak on the device.
  int64_t device_used = 0;     ///< The planned peak, counting ranges of blocks only as far as they have been
                               ///< used.
  int64_t device_process = 0;  ///< Maximum that the driver's monitor reported for the process; 0: unknown.
  double device_busy = 0;  ///< Mean share of time in which kernels ran, from 0 to 1; 0 without the monitor.
};

/// One epoch of training: a row of metrics.csv.
struct EpochMetrics {
  int64_t epoch = 0;
  double training_loss = 0;
  double validation_loss = 0;
  double gradient_norm = 0;  ///< Mean over the steps, before clipping.
  double seconds = 0;
  double learning_rate = 0;  ///< Rate of the last step.
  EpochCost cost = {};
};

/// Calls visit(name, value) for each metric, in the order of the columns of metrics.csv.
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
  visit("device_planned_bytes", cost.device_planned);
  visit("device_used_bytes", cost.device_used);
  visit("device_process_bytes", cost.device_process);
  visit("device_busy", cost.device_busy);
}

/// Returns {name: value} for each metric. A loss that is not finite becomes null.
Json metrics_json(const EpochMetrics& metrics);
/// Replaces `path` with the metrics.csv of these epochs. Errors: those of replace_file().
void write_metrics_csv(const std::filesystem::path& path, std::span<const EpochMetrics> epochs);

/// Number of epochs for which a run reserves memory at its start; beyond it, memory grows during training.
inline constexpr int64_t kEpochsWithRoom = 10'000;

/// Replaces `epochs` with those of a checkpoint's tensor, which stores each epoch as in memory: a row of
/// 8-byte numbers, or fewer, from a version that did not record devices. Errors: InputError unless the tensor
/// has `count` rows of that many numbers.
void read_epochs(const TensorSpan& tensor, int64_t count, Vector<EpochMetrics, Tag::output>& epochs);
inline constexpr int64_t kNumbersOfAnEpoch = sizeof(EpochMetrics) / sizeof(int64_t);
inline constexpr int64_t kNumbersBeforeDevices =
    static_cast<int64_t>(offsetof(EpochMetrics, cost) + offsetof(EpochCost, device_planned)) /
    sizeof(int64_t);

/// The position of a run between two steps.
struct Position {
  int64_t epoch = 1;
  int64_t step = 0;          ///< Number of completed steps of the epoch.
  EpochMetrics so_far = {};  ///< Sums over these steps.
  int64_t best_epoch = 0;    ///< Epoch with the lowest validation loss; 0: none yet.
  double best_loss = std::numeric_limits<double>::infinity();
  Vector<EpochMetrics, Tag::output> epochs = {};  ///< Completed epochs.
  LossScale scale = {};                           ///< Loss scale of training.precision 16-mixed.
};

/// Returns a position without its epochs, and the number of steps of the optimizer, as the text of metadata
/// "plimsoll.position".
std::string position_text(const Position& position, int64_t optimizer_steps);

struct ReadPosition {
  Position position;
  int64_t optimizer_steps;
};

/// Reads the metadata "plimsoll.position" of a file, without epochs. Errors: InputError that names the file,
/// and what is missing, of another type, or impossible.
ReadPosition read_position(const SafetensorsView& file);
/// Reads the text of position_text(), without the checks of the function above. Errors: Json::exception or
/// UsageError if it is another text.
ReadPosition read_position(const std::string& text);

}  // namespace plimsoll

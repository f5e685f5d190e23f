#include "engine/predict/column_stage.h"

#include "base/hash.h"
#include "config/earlier_runs.h"
#include "config/identity.h"
#include "engine/blocks/shared_file.h"
#include "engine/blocks/shared_prediction.h"
#include "engine/plan/planned_engine.h"
#include "engine/plan/planner.h"
#include "telemetry/journal.h"

namespace plimsoll {
namespace {

constexpr int64_t kWriterBytes = 320 * 1024;  // Memory of an NpyWriter.

// The settings identify the graphs, and how they are made. The blocks and the device are included, because
// rounding may depend on them.
ColumnKey key_of(const ColumnOptions& options) {
  // Only the data and the blocks are relevant; everything else has its default.
  Recipe as_made = with_earlier_rules({});
  as_made.data = options.recipe->data;
  as_made.training.block = options.recipe->training.block;
  Hasher settings;
  const std::string text = identity_yaml(as_made);
  settings.add(text.data(), text.size());
  settings.add(options.graphs.data(), options.graphs.size_bytes());
  if (options.run.device != nullptr) {
    const std::string device = options.run.device->model();
    settings.add(device.data(), device.size());
  }
  return {options.objective->parameters().hash(), options.data, settings.hex64()};
}

// Returns the memory that predicting on several ranks needs.
int64_t bytes_on_ranks(const ColumnOptions& options) {
  return bytes_to_predict_on_ranks(*options.objective, options.shapes, limits_of(options.recipe->training),
                                   {options.graphs}, options.run.ranks);
}

PlanInput input_for(const ColumnOptions& options) {
  const bool tries_out = options.run.device == nullptr;
  return {.source = options.source,
          .shapes = options.shapes,
          .objective = options.objective,
          .limits = limits_of(options.recipe->training),
          .memory = options.run.memory,
          .prefetch = options.run.prefetch,
          .predicted = {options.graphs},
          .estimation = options.run.without_data ? Estimation::from_shapes
                        : tries_out              ? options.recipe->memory.estimation
                                                 : Estimation::measured,
          .later = kWriterBytes + bytes_on_ranks(options),
          .device = device_without_data(options.run)};
}

std::optional<NpyView> find_column(const ColumnOptions& options, const ColumnFile& file,
                                   const ColumnKey& key) {
  return look_on_ranks(options.run.exchange, file.path(), [&] { return file.open(key); });
}

}  // namespace

MemoryPlan plan_column(const ColumnOptions& options) {
  if (options.run.device != nullptr) return PlannedEngine(input_for(options), options.run.device).plan();
  return make_plan(input_for(options));
}

std::optional<NpyView> open_column(const ColumnOptions& options, const std::filesystem::path& folder) {
  return find_column(options, ColumnFile(folder, options.name), key_of(options));
}

ColumnResult write_column(const ColumnOptions& options, const std::filesystem::path& folder) {
  const ColumnFile file(folder, options.name);
  const ColumnKey key = key_of(options);
  if (auto column = find_column(options, file, key)) return {std::move(*column), false, {}};

  ColumnResult result;
  result.computed = true;
  PlannedEngine engine(input_for(options), options.run.device);
  result.plan = engine.plan();
  const bool writes = options.run.writes();
  Journal journal(writes ? Journal(options.run.folder / "events.jsonl") : Journal());
  journal.write("start", {{"column", options.name},
                          {"graphs", options.graphs.size()},
                          {"weights", key.weights},
                          {"blocks_in_flight", result.plan.execution.blocks},
                          {"slab_bytes", result.plan.execution.slab_bytes}});
  options.run.observer->on_started();
  const int64_t items = engine->items(options.graphs);
  const int64_t width = options.objective->outputs();
  int64_t done = 0;
  const auto predict = [&](NpyWriter* writer) {
    predict_on_ranks(*engine, options.run.exchange, options.graphs, [&](std::span<const float> outputs) {
      if (writer != nullptr) writer->append(outputs);
      done += static_cast<int64_t>(outputs.size()) / width;
      options.run.observer->on_progress(done, items, options.name);
      if (options.run.interrupt != nullptr && options.run.interrupt->load())
        throw Interrupted("interrupted while computing " + options.name +
                          "; to continue, add --resume to the same command");
    });
  };
  if (writes)
    file.write(key, width, [&](NpyWriter& writer) { predict(&writer); });
  else
    predict(nullptr);
  journal.write("end", {{"column", options.name}, {"rows", done}, {"width", width}});
  auto column = find_column(options, file, key);
  if (!column) throw Failure(file.path().string() + ": the file was written, but no longer exists");
  result.column = std::move(*column);
  return result;
}

}  // namespace plimsoll

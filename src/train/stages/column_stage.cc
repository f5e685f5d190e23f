#include "train/stages/column_stage.h"

#include "base/hash.h"
#include "telemetry/journal.h"

namespace plimsoll {
namespace {

constexpr int64_t kWriterBytes = 320 * 1024;  // of NpyWriter

// How graphs are made, and which. Rounding may follow where blocks end.
ColumnKey key_of(const ColumnOptions& options) {
  Recipe as_made;
  as_made.data = options.recipe->data;
  as_made.training.block = options.recipe->training.block;
  Hasher settings;
  const std::string text = recipe_yaml(as_made);
  settings.add(text.data(), text.size());
  settings.add(options.graphs.data(), options.graphs.size_bytes());
  return {options.objective->parameters().hash(), options.data, settings.hex64()};
}

}  // namespace

MemoryPlan plan_column(const ColumnOptions& options) {
  return make_plan({.source = options.source,
                    .shapes = options.shapes,
                    .objective = options.objective,
                    .limits = limits_of(options.recipe->training),
                    .threads = options.run.threads,
                    .prefetch = options.run.prefetch,
                    .predicted = {options.graphs},
                    .estimation = options.run.without_data ? "static" : options.recipe->memory.estimation,
                    .outside_ledger = options.run.outside_ledger,
                    .outside_varies = options.run.outside_varies,
                    .later = kWriterBytes,
                    .cap = options.run.cap});
}

std::optional<NpyView> open_column(const ColumnOptions& options, const std::filesystem::path& folder) {
  return ColumnFile(folder, options.name).open(key_of(options));
}

ColumnResult write_column(const ColumnOptions& options, const std::filesystem::path& folder) {
  const ColumnFile file(folder, options.name);
  const ColumnKey key = key_of(options);
  if (auto column = file.open(key)) return {std::move(*column), false, {}};

  ColumnResult result;
  result.computed = true;
  result.plan = plan_column(options);
  BlockEngine engine(*options.source, options.shapes, *options.objective, limits_of(options.recipe->training),
                     require_feasible(result.plan));
  Journal journal(options.run.folder / "events.jsonl");
  journal.write("start", {{"column", options.name},
                          {"graphs", options.graphs.size()},
                          {"weights", key.weights},
                          {"blocks_in_flight", result.plan.execution.blocks},
                          {"slab_bytes", result.plan.execution.slab_bytes}});
  options.run.begun();
  const int64_t items = engine.items(options.graphs);
  const int64_t width = options.objective->outputs();
  int64_t done = 0;
  file.write(key, width, [&](NpyWriter& writer) {
    engine.predict(options.graphs, [&](std::span<const float> outputs) {
      writer.append(outputs);
      done += static_cast<int64_t>(outputs.size()) / width;
      options.run.progress(done, items, options.name);
      if (options.run.interrupt != nullptr && options.run.interrupt->load())
        throw Interrupted("interrupted while computing " + options.name +
                          "; to continue, add --resume to the same command");
    });
  });
  journal.write("end", {{"column", options.name}, {"rows", done}, {"width", width}});
  result.column = *file.open(key);
  return result;
}

}  // namespace plimsoll

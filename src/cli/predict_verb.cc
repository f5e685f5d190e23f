#include <fmt/format.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/enforced.h"
#include "cli/interrupt.h"
#include "cli/open_device.h"
#include "cli/train_verb.h"
#include "engine/plan/warm_up.h"
#include "run/predict_run.h"
#include "run/training_data.h"
#include "telemetry/progress.h"

namespace plimsoll {

void run_predict(const PredictOptions& options, Exchange* exchange) {
  require_started(options.ranks, exchange);
  const Stopwatch watch;
  const int threads = options.resources.thread_count();
  const std::unique_ptr<TrainingDevice> device = open_device(options.device, options.ranks, threads);
  warm_up_torch(threads);
  Budget budget(options.resources, 0, kHeapSlack, /*may_be_below=*/true);
  std::unique_ptr<Enforcement> enforcement =
      enforce(options.enforce, budget, threads + (options.enforce ? threads_that_read(options.data) : 0));
  std::optional<Progress> progress;
  const PredictionRequest request{.folder = {options.run},
                                  .data = options.data,
                                  .out = options.out,
                                  .force = options.force,
                                  .embeddings = options.embeddings,
                                  .csv = options.csv,
                                  .threads = threads,
                                  .budget = budget.bytes(),
                                  .outside_ledger = budget.outside_ledger(),
                                  .exchange = exchange,
                                  .device = device.get(),
                                  .release = [&] { enforcement.reset(); },
                                  .progress = until_stopped([&](int64_t done, int64_t total) {
                                    if (rank_of(exchange) != 0) return;
                                    if (!progress) progress.emplace("predict", "rows");
                                    progress->update(done, total, "");
                                  })};
  const int64_t rows = stopped_in_order([&] { return predict_run(request); });
  progress.reset();
  if (rank_of(exchange) != 0) return;
  if (options.json)
    print_json({{"out", options.out.string()},
                {"rows", rows},
                {"seconds", watch.seconds()},
                {"memory", budget.report_json()}});
  else
    fmt::print("{} rows in {}; {}\n{}\n", format_count(rows), format_seconds(watch.seconds()),
               budget.report(), options.out.string());
}

}  // namespace plimsoll

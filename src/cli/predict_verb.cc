#include <fmt/format.h>

#include "base/units.h"
#include "cli/engine_session.h"
#include "cli/interrupt.h"
#include "cli/train_verb.h"
#include "run/predict_run.h"
#include "telemetry/progress.h"

namespace plimsoll {

void run_verb(const PredictOptions& options, Exchange* exchange) {
  require_started(options.ranks, exchange);
  const Stopwatch watch;
  EngineSession session(options.resources, options.device, exchange);
  if (options.enforce) session.enforce(options.data);
  std::optional<Progress> progress;
  const PredictionRequest request{.folder = {options.run},
                                  .data = options.data,
                                  .out = options.out,
                                  .nodes = options.nodes,
                                  .force = options.force,
                                  .embeddings = options.embeddings,
                                  .csv = options.csv,
                                  .memory = session.memory(),
                                  .exchange = exchange,
                                  .device = session.device(),
                                  .release = [&] { session.release(); },
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
                {"memory", session.budget().report_json()}});
  else
    fmt::print("{} rows in {}; {}\n{}\n", format_count(rows), format_seconds(watch.seconds()),
               session.budget().report(), options.out.string());
}

}  // namespace plimsoll

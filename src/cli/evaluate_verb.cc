#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/units.h"
#include "cli/engine_session.h"
#include "cli/interrupt.h"
#include "cli/train_verb.h"
#include "run/evaluate_run.h"
#include "run/run_lock.h"
#include "telemetry/counted.h"
#include "telemetry/progress.h"

namespace plimsoll {

void run_verb(const EvaluateOptions& options, Exchange* exchange) {
  require_started(options.ranks, exchange);
  const bool is_rank_zero = rank_of(exchange) == 0;
  const Stopwatch watch;
  EngineSession session(options.resources, options.device, exchange);
  if (options.enforce) session.enforce(options.data);
  const RunFolder folder{options.run};
  if (const auto trainer = holder_of_run(folder.root); trainer && is_rank_zero)
    fmt::print(stderr,
               "plimsoll: {} is still training in {}; evaluating the stages that it has finished so far\n",
               *trainer, folder.root.string());
  std::optional<Progress> progress;
  bool has_started = false;
  const auto show = [&](int64_t done, int64_t total) {
    // From here on, temporary files exist that must be removed: outputs of layers for all nodes.
    if (!std::exchange(has_started, true)) stop_in_order();
    throw_if_stopped();
    if (!is_rank_zero) return;
    if (!progress) progress.emplace("evaluate", "nodes");
    progress->update(done, total, "");
  };
  const EvaluateRequest request{.asked = {.folder = folder,
                                          .recipe = {},
                                          .data = options.data,
                                          .split = options.split,
                                          .of_task = options.of_task,
                                          .baseline = options.baseline,
                                          .memory = session.memory(),
                                          .exchange = exchange,
                                          .device = session.device(),
                                          .progress = show},
                                .verify_all = options.verify == "full",
                                .release = [&] { session.release(); }};
  const EvaluationResult findings = stopped_in_order([&] { return evaluate_run(request); });
  progress.reset();
  if (!is_rank_zero) return;
  if (options.json)
    print_json(findings.json, 1);
  else
    fmt::print("{}\n{}{} in {}; {}\n", findings.table, findings.notes,
               counted(findings.graphs, findings.unit), format_seconds(watch.seconds()),
               session.budget().report());
  std::fflush(stdout);
  stop_in_order();  // A signal must not leave files half written.
  require_saved(save_evaluation(request.asked, findings));
  throw_if_stopped();
  if (!options.json && options.split.empty())
    fmt::print("{}\n{}\n", folder.evaluation().string(), folder.report().string());
}

}  // namespace plimsoll

#include "engine/fit/fit_journal.h"

#include <unistd.h>

#include "engine/fit/stored_table.h"
#include "engine/plan/start_up.h"
#include "memory/ledger.h"

namespace plimsoll {

FitJournal::FitJournal(const FitOptions& options, const Position& position)
    : options_(options),
      position_(position),
      journal_(options.run.writes() ? Journal(options.run.folder / "events.jsonl") : Journal()) {}

void FitJournal::damaged_checkpoints(const std::vector<std::string>& names) {
  for (const std::string& name : names) journal_.write("damaged_checkpoint", {{"name", name}});
}

void FitJournal::start(bool is_resumed, const MemoryPlan& plan, const DeviceRun* device) {
  const TrainingSection& training = options_.recipe->training;
  const int64_t cap = Ledger::process().cap();
  journal_.write(
      is_resumed ? "resume" : "start",
      {{"training", options_.split->training.size()},
       {"validation", options_.split->validation.size()},
       {"parameters", options_.objective->parameters().count()},
       {"epoch", position_.epoch},
       {"step", position_.step},
       {"max_epochs", training.max_epochs},
       {"batch_size", training.batch_size},
       {"process", ::getpid()},
       {"threads", options_.run.memory.threads},
       {"blocks_in_flight", plan.execution.blocks},
       {"slab_bytes", plan.execution.slab_bytes},
       {"prefetch", plan.execution.prefetch},
       {"recompute", plan.execution.recompute},
       {"budget_bytes", cap == Ledger::kUnlimited ? Json() : Json(cap + options_.run.memory.outside_ledger)},
       {"planned_bytes", plan.peak},
       {"min_budget_bytes", plan.min_budget},
       {"start_up", plan.start_up ? start_up_json(*plan.start_up) : Json()},
       {"device", device != nullptr ? device_json(device->use(*plan.device)) : Json()}});
}

void FitJournal::pressure(const BlockRunner::Event& event) {
  journal_.write(event.name, {{"epoch", position_.epoch},
                              {"step", position_.step},
                              {"reason", event.reason},
                              {"slab_bytes", event.slab_bytes}});
}

void FitJournal::loss_scale() {
  journal_.write("loss_scale",
                 {{"epoch", position_.epoch}, {"step", position_.step}, {"factor", position_.scale.factor}});
}

void FitJournal::interrupted() {
  journal_.write("interrupted", {{"epoch", position_.epoch}, {"step", position_.step}});
}

void FitJournal::out_of_budget(const std::string& reason) {
  journal_.write("out_of_budget", {{"reason", reason}});
}

void FitJournal::begin_epoch(const LaneExchange* ranks) {
  if (ranks == nullptr) return;
  traffic_before_ = options_.run.exchange->traffic();
  for_slower_before_ = ranks->seconds_for_slower();
}

Json FitJournal::exchange_json(const LaneExchange& ranks) const {
  const Exchange::Traffic now = options_.run.exchange->traffic();
  return {{"ranks", options_.run.exchange->ranks()},
          {"bytes_sent", now.bytes_sent - traffic_before_.bytes_sent},
          {"seconds", now.seconds - traffic_before_.seconds},
          {"for_slower_seconds", ranks.seconds_for_slower() - for_slower_before_}};
}

void FitJournal::end_epoch(const EpochMetrics& metrics, const LaneExchange* ranks,
                           const std::optional<Reading>& reading) {
  Json entry = metrics_json(metrics);
  if (ranks != nullptr) entry["exchange"] = exchange_json(*ranks);
  if (reading) entry["reading"] = reading_json(*reading);
  journal_.write("epoch", entry);
}

// Returns the bytes of rows that this process read from the file of a table and wrote to it.
Json FitJournal::table_json() const {
  const StoredTable* const table = options_.table;
  if (table == nullptr) return {};
  return {{"bytes_read", table->bytes_read()}, {"bytes_written", table->bytes_written()}};
}

void FitJournal::end(const std::string& weights, const BlockRunner& runner) {
  journal_.write("end", {{"best_epoch", position_.best_epoch},
                         {"validation_loss", position_.best_loss},
                         {"weights", weights},
                         {"reruns", runner.reruns()},
                         {"sheds", runner.sheds()},
                         {"overflows", runner.overflows()},
                         {"unforeseen", runner.unforeseen()},
                         {"embeddings_on_disk", table_json()}});
}

}  // namespace plimsoll

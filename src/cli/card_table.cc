#include "cli/card_table.h"

#include <fmt/format.h>

#include "base/units.h"
#include "telemetry/counted.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

std::string limits_text(const BlockSection& block) {
  return fmt::format("{}, {}, {}", counted(block.graphs, "graph"), counted(block.nodes, "node"),
                     counted(block.edges, "edge"));
}

Json blocks_json(const PlannedBlocks& planned) {
  return {{"graphs", planned.block.graphs},    {"nodes", planned.block.nodes},
          {"edges", planned.block.edges},      {"seeds", planned.block.seeds},
          {"range_bytes", planned.plan.range}, {"min_budget_bytes", planned.plan.min_budget}};
}

int64_t largest_card() {
  return device_models().back().bytes;
}

// What fits a card does not depend on the number of ranks, which may exceed the number of larger blocks in a
// step.
RunRequest of_one_process(RunRequest request) {
  request.ranks = 1;
  return request;
}

}  // namespace

CardTable::CardTable(const RunRequest& request, const PlannedCard& card)
    : margin_(card.margin),
      sizes_(plan_block_sizes(of_one_process(request), largest_card())),
      preset_(plan_gpu_preset(of_one_process(request))) {}

const PlannedBlocks* CardTable::largest_for(const DeviceModel& model) const {
  const int64_t margin = model.is_measured ? 0 : PlannedDevice::kMarginOfUnmeasured;
  const PlannedBlocks* largest = nullptr;
  for (const PlannedBlocks& size : sizes_)
    if (size.plan.min_budget - margin_ + margin <= model.bytes) largest = &size;
  return largest;
}

void CardTable::print() const {
  fmt::print("\nlarger blocks; training.block affects the result, so set it in the recipe\n");
  Table sizes({"<at most", "range", "smallest device budget", "<"});
  const auto add = [&](const PlannedBlocks& planned, const char* note) {
    sizes.add({limits_text(planned.block), format_bytes(planned.plan.range),
               format_bytes(planned.plan.min_budget), note});
  };
  for (const PlannedBlocks& size : sizes_) add(size, &size == &sizes_.front() ? "the recipe's" : "");
  if (preset_) add(*preset_, "training.block: {preset: gpu}");
  fmt::print("{}\n", sizes.text());
  Table models({"<model", "memory", "<the largest block that fits", "smallest device budget", "<context"});
  for (const DeviceModel& model : device_models()) {
    const PlannedBlocks* const largest = largest_for(model);
    const bool is_last = largest == &sizes_.back();
    models.add({std::string(model.name), format_bytes(model.bytes),
                largest == nullptr ? "none"
                                   : limits_text(largest->block) + (is_last ? " (the largest planned)" : ""),
                largest == nullptr ? "-" : format_bytes(largest->plan.min_budget),
                model.is_measured ? "measured" : "assumed"});
  }
  fmt::print("{}", models.text());
}

Json CardTable::json() const {
  Json sizes = Json::array(), models = Json::array();
  for (const PlannedBlocks& size : sizes_) sizes.push_back(blocks_json(size));
  for (const DeviceModel& model : device_models()) {
    const PlannedBlocks* const largest = largest_for(model);
    models.push_back({{"model", model.name},
                      {"bytes", model.bytes},
                      {"context_is_measured", model.is_measured},
                      {"largest_block", largest != nullptr ? blocks_json(*largest) : Json()}});
  }
  return {{"block_sizes", std::move(sizes)},
          {"gpu_preset", preset_ ? blocks_json(*preset_) : Json()},
          {"models", std::move(models)}};
}

}  // namespace plimsoll

#include "engine/plan/memory_by_module.h"

#include "base/error.h"
#include "telemetry/memory_snapshot.h"

namespace plimsoll {
namespace {

// Returns the tape that determines the sizes of a block's tensors, or null if there is none.
const TapeModel* model_of(const MemoryPlan::Block& worst) {
  if (worst.plan == nullptr || !worst.plan->has_model(worst.terms.closed)) return nullptr;
  const TapeModel& model = worst.plan->model(worst.terms.closed);
  return model.same_sequence() ? &model : nullptr;
}

}  // namespace

TapeProfile memory_by_module(const MemoryPlan::Block& worst) {
  const TapeModel* const model = model_of(worst);
  return model == nullptr ? TapeProfile() : profile_tape(model->tape(), model->sizes(worst.terms.terms));
}

Json memory_by_module_json(const TapeProfile& profile) {
  Json modules = Json::array();
  for (const auto& [module, bytes] : profile.at_peak)
    modules.push_back({{"module", module}, {"bytes", bytes}});
  return {{"peak_bytes", profile.peak},
          {"operation", profile.operation},
          {"modules", std::move(modules)},
          {"timeline",
           {{"events", profile.events},
            {"at", profile.at},
            {"modules", profile.modules},
            {"bytes", profile.series}}}};
}

TapeProfile memory_by_module_from(const Json& json) {
  TapeProfile profile;
  try {
    profile.peak = json.at("peak_bytes");
    profile.operation = json.at("operation");
    for (const Json& module : json.at("modules"))
      profile.at_peak.emplace_back(module.at("module").get<std::string>(), module.at("bytes").get<int64_t>());
    const Json& timeline = json.at("timeline");
    profile.events = timeline.at("events");
    profile.at = timeline.at("at").get<std::vector<int32_t>>();
    profile.modules = timeline.at("modules").get<std::vector<std::string>>();
    profile.series = timeline.at("bytes").get<std::vector<std::vector<int64_t>>>();
  } catch (const Json::exception&) {
    return {};
  }
  bool whole = profile.modules.size() == profile.series.size() && !profile.at.empty();
  for (const auto& series : profile.series) whole = whole && series.size() == profile.at.size();
  return whole ? profile : TapeProfile();
}

Json snapshot_of(const MemoryPlan::Block& worst) {
  const TapeModel* const model = model_of(worst);
  if (model == nullptr)
    throw UsageError(
        "a snapshot shows where tensors are placed, which is not planned here: what is allocated depends on "
        "the "
        "data");
  RangePlan range;
  worst.plan->plan(worst.terms, range);
  if (range.pieces.empty())
    throw UsageError("a snapshot shows where tensors are placed, which is not planned for one row");
  std::vector<int64_t> places;
  for (const PlannedAllocation& piece : range.pieces) places.push_back(piece.place);
  return memory_snapshot(model->tape(), model->sizes(worst.terms.terms), places);
}

}  // namespace plimsoll

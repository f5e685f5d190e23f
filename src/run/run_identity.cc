#include "run/run_identity.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "config/identity.h"
#include "engine/fit/checkpoint.h"
#include "engine/fit/rounding.h"
#include "io/file.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// The first undamaged checkpoint has the identity of the run. The longest list of roundings is the run's,
// because stages that finished earlier have shorter ones.
EarlierRun read_checkpoints(const RunFolder& folder) {
  EarlierRun earlier;
  for (const fs::path& checkpoint : checkpoints_of(folder)) {
    try {
      const SafetensorsView file(checkpoint);
      const std::string identity = file.meta("plimsoll.identity");
      if (earlier.identity.empty()) {
        fmt::print(
            stderr,
            "plimsoll: {} is missing or damaged; the identity of its recipe and data is read from {}\n",
            folder.manifest().string(), checkpoint.string());
        earlier.identity = identity.substr(0, identity.find(' '));
      }
      if (!file.metadata().contains(kRoundings)) continue;
      Json roundings = parse_json(file.meta(kRoundings));
      if (roundings.is_array() && roundings.size() > earlier.roundings.size())
        earlier.roundings = std::move(roundings);
    } catch (const InputError&) {
    }
  }
  if (earlier.identity.empty())
    throw InputError(folder.manifest().string() +
                     " is missing or damaged, and no checkpoint has the identity of its recipe and data; "
                     "start again with --force in place of --resume");
  return earlier;
}

EarlierRun read_manifest_or_checkpoints(const RunFolder& folder) {
  const Json manifest = parse_json(read_text_if_exists(folder.manifest()).value_or(""));
  if (!manifest.is_object() || !manifest.value("identity", Json()).is_string())
    return read_checkpoints(folder);
  EarlierRun earlier{.identity = manifest.at("identity"),
                     .stages = manifest.value("stages", Json()),
                     .starts = manifest.value("starts", Json())};
  if (Json roundings = manifest.value("roundings", Json()); roundings.is_array())
    earlier.roundings = std::move(roundings);
  return earlier;
}

}  // namespace

std::string identity_of(const RunRequest& request, const TrainingData& data) {
  Recipe recipe = request.recipe;
  const TrainingSection defaults;
  if (find_task(recipe.task).can_be_made_longer()) {
    // A cosine schedule depends on the number of epochs.
    if (recipe.training.schedule != ScheduleKind::cosine) recipe.training.max_epochs = defaults.max_epochs;
    recipe.training.patience = defaults.patience;
  }
  recipe.training.checkpoint_every_s = defaults.checkpoint_every_s;
  recipe.memory = {};
  recipe.run = {};
  recipe.training.gradient_checkpointing = defaults.gradient_checkpointing;
  const std::string text = identity_yaml(recipe) + data.identity().dump();
  Hasher hasher;
  hasher.add(text.data(), text.size());
  for (const fs::path& file : {fs::path(recipe.init_from), request.teacher}) {
    if (file.empty()) continue;
    const MappedFile weights(file);
    hasher.add(weights.bytes().data(), weights.bytes().size());
  }
  return hasher.hex64();
}

EarlierRun read_earlier_run(const RunFolder& folder, const std::string& identity) {
  EarlierRun earlier = read_manifest_or_checkpoints(folder);
  if (earlier.identity != identity)
    throw UsageError(
        folder.root.string() +
        " holds a run with another recipe, other data or another teacher; give --run another folder, "
        "or start again with --force in place of --resume");
  return earlier;
}

Json roundings_with_this(const RunFolder& folder, const EarlierRun& earlier, bool allow_other) {
  const Json here = rounding_here();
  if (!has_results(folder)) return Json::array({here});
  Json roundings = earlier.roundings;
  if (roundings.empty()) {
    fmt::print(
        stderr,
        "plimsoll: {} was started by a version that did not record how it rounds; continuing with {}\n",
        folder.root.string(), rounding_in_words(here));
    return Json::array({here});
  }
  const std::string difference = rounding_difference(roundings.back(), here);
  if (difference.empty()) return roundings;
  if (!allow_other)
    throw UsageError(
        fmt::format("{} was trained with {}: the remaining steps would be rounded differently, and the "
                    "weights would differ from those of any uninterrupted run; resume it where these are the "
                    "same (PLIMSOLL_SIMD and ATEN_CPU_CAPABILITY lower the levels), accept it with "
                    "--allow-other-rounding, or start again with --force in place of --resume",
                    folder.root.string(), difference));
  fmt::print(stderr,
             "plimsoll: warning: {} was trained with {}; its weights will differ from those of any "
             "uninterrupted run\n",
             folder.root.string(), difference);
  roundings.push_back(here);
  return roundings;
}

}  // namespace plimsoll

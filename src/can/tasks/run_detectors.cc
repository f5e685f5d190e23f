#include "can/tasks/run_detectors.h"

#include <array>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"

namespace plimsoll {
namespace {

// The name of the model that each stage trains, for all tasks.
constexpr std::array<std::pair<const char*, const char*>, 7> kDetectors = {
    {{"gat_student", "student_gat"},
     {"vgae_student", "student_vgae"},
     {"gat_alone", "student_gat_alone"},
     {"gat_teacher", "teacher"},
     {"vgae_teacher", "autoencoder"},
     {"gat", "gat"},
     {"vgae", "vgae"}}};

std::vector<int64_t> seeds_of(const Json& manifest, const RunFolder& folder, const Recipe& recipe) {
  try {
    return manifest.value("seeds", std::vector<int64_t>{recipe.seed});
  } catch (const Json::exception&) {
    throw InputError(folder.manifest().string() +
                     ": seeds is not a list of whole numbers; `plimsoll train --resume` writes it again");
  }
}

}  // namespace

std::vector<RunDetector> detectors_of(const RunFolder& folder, const Recipe& recipe) {
  const Json manifest = parse_json(read_text(folder.manifest()));
  if (!manifest.is_object())
    throw InputError(folder.manifest().string() + " is damaged; `plimsoll train --resume` writes it again");
  const auto seeds = seeds_of(manifest, folder, recipe);
  std::vector<RunDetector> detectors;
  for (const auto& [name, stage] : kDetectors)
    for (const int64_t seed : seeds) {
      const auto file = folder.seed(seed) / stage / "model.safetensors";
      if (FileSystem::disk().exists(file)) detectors.push_back({name, seed, file});
    }
  if (detectors.empty())
    throw InputError(folder.root.string() +
                     " has no trained detector; finish the run with `plimsoll train --resume`");
  return detectors;
}

}  // namespace plimsoll

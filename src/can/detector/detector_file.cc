#include "can/detector/detector_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sample/block/feature_selection.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

WindowOptions windows_of(const SafetensorsView& file) {
  if (!file.metadata().contains("plimsoll.data"))
    throw InputError(
        file.path() +
        ": does not say how its windows are made (metadata 'plimsoll.data'): it was written by an "
        "older version, or is not a detector; train it again");
  return read_metadata(file, "plimsoll.data", [](const Json& data) {
    const WindowLength window = WindowLength::parse(data.at("window").get<std::string>());
    const WindowLength stride = WindowLength::parse(data.at("stride").get<std::string>());
    if (window.unit != stride.unit) throw UsageError("window and stride have different units");
    const auto features = parse_word<WindowFeatures>(data.at("features").get<std::string>(), "features");
    WindowOptions options{features, window.value, stride.value, window.unit, {}, {}};
    check_window_options(options);
    return options;
  });
}

// Returns the result of `read`. Adds the file's name to its InputErrors.
template <typename Read>
auto naming_file(const SafetensorsView& file, const Read& read) {
  try {
    return read();
  } catch (const InputError& error) {
    throw InputError(file.path() + ": " + error.what());
  }
}

TrainedContext learned_of(const SafetensorsView& file) {
  const std::vector<std::string> channels = channel_names(file);
  return naming_file(file, [&] {
    const NamedTensors ids = own_tensors(file, "vocabulary.ids");
    return TrainedContext{
        Vocabulary::from_tensor(ids, "vocabulary.ids", channels).ids(),
        BehaviourProfile::from_tensors(own_tensors(file, "profile.", "profile.sums."), channels)};
  });
}

std::optional<Fusion> fusion_of(const SafetensorsView& file) {
  return naming_file(file, [&] { return Fusion::from_tensors(own_tensors(file, "fusion.", "fusion.rows")); });
}

}  // namespace

DetectorFile::DetectorFile(const std::filesystem::path& path)
    : file(path),
      windows(windows_of(file)),
      known(learned_of(file)),
      ids(static_cast<int64_t>(known.vocabulary.size()) + 1),
      fusion(fusion_of(file)) {
  if (fusion && windows.features != WindowFeatures::behaviour)
    throw InputError(file.path() + ": has levels of a fused score ('fusion.*'), but its features '" +
                     std::string(word_of(windows.features)) +
                     "' have no statistics for them; train it again");
  without = read_metadata(file, "plimsoll.without", [&](const Json& names) {
    auto hidden = names.get<std::vector<std::string>>();
    require_known_features(feature_tables(windows.features), hidden);
    return hidden;
  });
  if (file.metadata().contains("plimsoll.calibrated")) take_profiles_ids();
  if (windows.features == WindowFeatures::behaviour &&
      (!known.profile || known.profile->vocabulary().ids() != known.vocabulary))
    throw InputError(file.path() +
                     ": has no benign profile of the CAN IDs of its vocabulary; train it again");
  unknown_ids_apart = file.meta("plimsoll.unknown_ids") == "apart";
  thresholds = read_metadata(file, "plimsoll.thresholds", [](const Json& list) {
    std::vector<AlarmThreshold> all;
    for (const Json& entry : list) all.push_back({entry.at("target_rate"), entry.at("log_odds")});
    return all;
  });
  if (!fusion) return;
  thresholds.clear();
  for (const Fusion::Line& line : fusion->lines()) thresholds.push_back({line.target_rate, line.level});
}

// Uses the IDs of the vehicle's profile. There may be more IDs than rows of the embedding, so the model must
// not get their indices.
void DetectorFile::take_profiles_ids() {
  if (windows.features != WindowFeatures::behaviour || !hides_identity() || !known.profile)
    throw InputError(
        file.path() +
        ": is marked as calibrated (metadata 'plimsoll.calibrated'), but identifies CAN IDs by index, "
        "or has no benign profile; train it on behaviour features without 'id_index' and "
        "calibrate it again");
  known.vocabulary = known.profile->vocabulary().ids();
}

bool DetectorFile::hides_identity() const {
  return std::ranges::find(without, "id_index") != without.end();
}

float DetectorFile::threshold(double rate) const {
  if (thresholds.empty())
    throw InputError(file.path() +
                     ": has no thresholds: it was trained without benign validation windows; "
                     "name one with --threshold");
  if (rate == 0) return std::ranges::min_element(thresholds, {}, &AlarmThreshold::target_rate)->level;
  std::vector<double> rates;
  for (const AlarmThreshold& threshold : thresholds) {
    if (std::abs(threshold.target_rate - rate) < 1e-9) return threshold.level;
    rates.push_back(threshold.target_rate);
  }
  throw UsageError(fmt::format("{} has no threshold for a rate of {}; it has {}", file.path(), rate,
                               fmt::join(rates, ", ")));
}

}  // namespace plimsoll

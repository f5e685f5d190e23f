#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/json.h"
#include "nn/gat_with_jk.h"
#include "store/named_tensors.h"

namespace plimsoll {

/// A level above which a score is an attack, and the rate of benign validation windows above it.
struct Threshold {
  double target_rate = 0;
  double realised_rate = 0;
  float log_odds = 0;
};

/// A trained detector and what is needed to use it on other data.
struct DetectorModel {
  std::unique_ptr<GATWithJK> model;
  std::vector<uint32_t> vocabulary;  ///< CAN IDs by index
  std::vector<uint32_t> benign_ids;  ///< IDs of benign training traffic
  std::vector<Threshold> thresholds;
  std::vector<std::string> trained_on = {};  ///< content_of each training recording
  std::vector<std::string> without = {};     ///< features that it does not see
  /// What benign traffic does, "profile.*" and "timing.*", as src/ingest reads it; may be null.
  std::shared_ptr<const NamedTensors> benign = {};
};

/// Writes a detector as safetensors: parameters by name, "vocabulary.ids" and "vocabulary.benign" (I64), and
/// `benign` by name, and in the metadata "plimsoll.model", "plimsoll.config" "plimsoll.thresholds",
/// "plimsoll.trained_on" and "plimsoll.without" (JSON).
void save_model(const std::filesystem::path& path, const DetectorModel& detector);

/// Errors: InputError naming the file and the tensor or key that is missing or of another shape.
DetectorModel load_model(const std::filesystem::path& path);

}  // namespace plimsoll

#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/json.h"
#include "nn/gat_with_jk.h"
#include "train/metrics.h"

namespace plimsoll {

/// A trained detector and what is needed to use it on other data.
struct DetectorModel {
  std::unique_ptr<GATWithJK> model;
  std::vector<uint32_t> vocabulary;  ///< CAN IDs by index
  std::vector<uint32_t> benign_ids;  ///< IDs of benign training traffic
  std::vector<Threshold> thresholds;
  std::vector<std::string> trained_on = {};  ///< content_of each training recording
};

/// Writes a detector as safetensors: parameters by name, "vocabulary.ids" and "vocabulary.benign" (I64), and
/// in the metadata "plimsoll.model", "plimsoll.config" "plimsoll.thresholds" and "plimsoll.trained_on"
/// (JSON).
void save_model(const std::filesystem::path& path, const DetectorModel& detector);

/// Errors: InputError naming the file and the tensor or key that is missing or of another shape.
DetectorModel load_model(const std::filesystem::path& path);

}  // namespace plimsoll

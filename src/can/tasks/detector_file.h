#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "can/tasks/threshold.h"
#include "nn/gat_with_jk.h"
#include "nn/vgae.h"
#include "store/message_ids.h"
#include "store/named_tensors.h"
#include "store/safetensors.h"

namespace plimsoll {

/// The data that a trained detector needs in addition to its weights to be used on other traffic.
struct DetectorFacts {
  MessageIds vocabulary;  ///< Keys by index.
  MessageIds benign_ids;  ///< IDs of benign training traffic; the channels are those of the vocabulary.
  std::vector<Threshold> thresholds = {};  ///< Thresholds for its scores.
  /// content_of() of each recording that was used for training or validation (engine/data/split.h).
  std::vector<std::string> trained_on = {};
  std::vector<std::string> without = {};  ///< Features that are hidden from it.
  std::string data = {};  ///< How its windows are made: JSON {"features", "window", "stride"}.
  /// Whether unknown IDs count as separate evidence (can/tasks/unknown_id_evidence.h): true for a GAT trained
  /// with ID dropout.
  bool unknown_ids_apart = false;
  /// The model of benign traffic: the tensors "profile.*", "timing.*" and "fusion.*" of can/profile,
  /// can/windows and can/detector. Null unless training set it, or load_detector() read it.
  std::shared_ptr<const NamedTensors> benign = {};
};

/// A trained detector of attacks: a classifier, or an autoencoder that reconstructs attacks badly.
struct Detector {
  std::unique_ptr<GATWithJK> gat;                      ///< Exactly one of gat and vgae is set.
  std::unique_ptr<GraphAutoencoderNeighborhood> vgae;  ///< See gat.
  DetectorFacts facts;

  const ParameterList& parameters() const { return gat ? gat->parameters() : vgae->parameters(); }
};

/// Writes a detector as safetensors: parameters and buffers by name, "vocabulary.ids" and "vocabulary.benign"
/// (I64), `benign` by name, and in the metadata "plimsoll.model", "plimsoll.config", "plimsoll.thresholds",
/// "plimsoll.trained_on", "plimsoll.without", "plimsoll.unknown_ids", "plimsoll.data" and "plimsoll.channels"
/// (docs/formats/safetensors.md). Errors: those of write_safetensors().
void save_detector(const std::filesystem::path& path, const Detector& detector);

/// Reads what save_detector() wrote. Keys that earlier versions did not write get default values. Errors:
/// InputError naming the file and the tensor or key that is missing or has a wrong shape; Failure;
/// BudgetExceeded.
Detector load_detector(const std::filesystem::path& path);

/// The model of a detector whose parameters and buffers are views of its mapped file: it can predict, and
/// uses no anonymous memory. Its facts are empty.
struct MappedDetector {
  std::shared_ptr<const SafetensorsView> file;  ///< Must outlive the model.
  Detector detector;
};

/// Maps the model of a detector's file. Errors: those of load_detector().
MappedDetector map_detector(const std::filesystem::path& path);

}  // namespace plimsoll

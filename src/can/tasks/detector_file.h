#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nn/gat_with_jk.h"
#include "nn/vgae.h"
#include "store/message_ids.h"
#include "store/named_tensors.h"
#include "store/safetensors.h"
#include "tasks/metrics/threshold.h"

namespace plimsoll {

/// What a trained detector needs beside its weights to be used on other data.
struct DetectorFacts {
  MessageIds vocabulary;                   ///< by index
  MessageIds benign_ids;                   ///< of benign training traffic; its channels are the vocabulary's
  std::vector<Threshold> thresholds = {};  ///< of its scores
  std::vector<std::string> trained_on = {};  ///< content_of each training recording
  std::vector<std::string> without = {};     ///< features that it does not see
  std::string data = {};  ///< how its windows are made: JSON {"features", "window", "stride"}
  /// Unknown IDs are evidence of their own (can/tasks/unknown_ids_apart.h): of a GAT trained with ID dropout.
  bool unknown_ids_apart = false;
  /// What benign traffic does, "profile.*" and "timing.*", as src/ingest reads it; may be null.
  std::shared_ptr<const NamedTensors> benign = {};
};

/// A trained detector of attacks: a classifier, or an autoencoder that rebuilds attacks badly.
struct Detector {
  std::unique_ptr<GATWithJK> gat;                      ///< one of the two
  std::unique_ptr<GraphAutoencoderNeighborhood> vgae;  ///< is there
  DetectorFacts facts;

  const ParameterList& parameters() const { return gat ? gat->parameters() : vgae->parameters(); }
};

/// Writes a detector as safetensors: parameters and buffers by name, "vocabulary.ids" and "vocabulary.benign"
/// (I64), `benign` by name, and in the metadata "plimsoll.model", "plimsoll.config", "plimsoll.thresholds",
/// "plimsoll.trained_on", "plimsoll.without", "plimsoll.data" and "plimsoll.channels"
/// (docs/formats/safetensors.md).
void save_detector(const std::filesystem::path& path, const Detector& detector);

/// Errors: InputError naming the file and the tensor or key that is missing or of another shape.
Detector load_detector(const std::filesystem::path& path);

/// The model of a detector whose parameters and buffers are views of its file, mapped: it predicts, and takes
/// no anonymous memory. Its facts are left out.
struct MappedDetector {
  std::shared_ptr<const SafetensorsView> file;  ///< must outlive the model
  Detector detector;
};

/// Errors: as load_detector().
MappedDetector map_detector(const std::filesystem::path& path);

}  // namespace plimsoll

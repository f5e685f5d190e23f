#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "store/frames.h"
#include "store/named_tensors.h"

namespace plimsoll {

/// CAN IDs by index: distinct and ascending. An ID that is not among them has the index size(), "out of
/// vocabulary". Immutable: any number of threads may look up.
class Vocabulary {
 public:
  explicit Vocabulary(std::vector<uint32_t> ids);

  /// From a tensor of a model, I64 [n]. Errors: InputError where it is missing or holds anything else.
  static Vocabulary from_tensor(const NamedTensors& tensors, const std::string& name);

  const std::vector<uint32_t>& ids() const { return ids_; }
  int32_t size() const { return static_cast<int32_t>(ids_.size()); }
  int32_t index(uint32_t can_id) const {
    return can_id < standard_.size() ? standard_[can_id] : extended_index(can_id);
  }

 private:
  int32_t extended_index(uint32_t can_id) const;

  std::vector<uint32_t> ids_;
  Vector<int32_t, Tag::columns> standard_;  // the index of each 11-bit ID
};

/// Which recordings a vocabulary or a profile is learned from.
struct LearnFrom {
  std::vector<std::string> splits = {};     ///< none: those for training
  std::vector<std::string> leave_out = {};  ///< attacks whose recordings are not among them

  bool takes(const Recording& recording) const;
};

/// The distinct IDs of all frames of these recordings, ascending; with `benign_only`, of frames labelled 0.
/// Errors: UsageError (no such split).
std::vector<uint32_t> training_ids(const FramesView& frames, bool benign_only, const LearnFrom& from = {});

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "can/profile/frame_keys.h"
#include "can/profile/id_slots.h"
#include "memory/vector.h"
#include "store/message_ids.h"
#include "store/named_tensors.h"

namespace plimsoll {

/// Messages by index: CAN IDs, or pairs of a CAN ID and a channel. A message outside the vocabulary has the
/// index size(). Immutable, so any number of threads may use it.
class Vocabulary {
 public:
  /// `ids` are distinct. Their order defines the indices.
  explicit Vocabulary(MessageIds ids);

  /// Reads a tensor of a model, I64 [n], with the names of channels by number. Errors: InputError if the
  /// tensor is missing or holds anything else, such as a channel without a name.
  static Vocabulary from_tensor(const NamedTensors& tensors, const std::string& name,
                                std::vector<std::string> channels);

  const MessageIds& ids() const { return ids_; }
  int32_t size() const { return static_cast<int32_t>(ids_.size()); }
  int32_t index(MessageKey key) const {
    const int32_t slot = slots_.find(key);
    return slot < 0 ? size() : slot;
  }
  /// The keys of frames, to be passed to index().
  FrameKeys keys(const FrameSpans& frames, const Recording& recording) const {
    return {frames, recording, ids_.channels};
  }

 private:
  MessageIds ids_;
  IdSlots<Tag::columns> slots_;
};

/// Selects the recordings from which a vocabulary or a profile is learned.
struct LearnFrom {
  std::vector<std::string> splits = {};     ///< Splits to learn from; empty for the training splits.
  std::vector<std::string> leave_out = {};  ///< Attacks whose recordings are left out.

  bool should_learn(const Recording& recording) const;
};

/// The distinct messages of all frames of the selected recordings; if `benign_only`, of the frames labelled
/// 0. Throws UsageError if a split does not exist, and InputError for too many channels.
MessageIds training_ids(const FramesView& frames, bool benign_only, const LearnFrom& from = {});

}  // namespace plimsoll

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

/// Messages by index: CAN IDs, or CAN IDs of channels. One that is not among them has the index size(), "out
/// of vocabulary". Immutable: any number of threads may look up.
class Vocabulary {
 public:
  explicit Vocabulary(MessageIds ids);

  /// From a tensor of a model, I64 [n], and the names of channels by number. Errors: InputError where the
  /// tensor is missing or holds anything else, such as a channel without a name.
  static Vocabulary from_tensor(const NamedTensors& tensors, const std::string& name,
                                std::vector<std::string> channels);

  const MessageIds& ids() const { return ids_; }
  int32_t size() const { return static_cast<int32_t>(ids_.size()); }
  int32_t index(MessageKey key) const {
    const int32_t slot = slots_.find(key);
    return slot < 0 ? size() : slot;
  }
  /// The keys of frames, for index().
  FrameKeys keys(const FrameSpans& frames, const Recording& recording) const {
    return {frames, recording, ids_.channels};
  }

 private:
  MessageIds ids_;
  IdSlots<Tag::columns> slots_;
};

/// Which recordings a vocabulary or a profile is learned from.
struct LearnFrom {
  std::vector<std::string> splits = {};     ///< none: those for training
  std::vector<std::string> leave_out = {};  ///< attacks whose recordings are not among them

  bool takes(const Recording& recording) const;
};

/// The distinct messages of all frames of these recordings; with `benign_only`, of frames labelled 0. Errors:
/// UsageError (no such split), InputError (too many channels).
MessageIds training_ids(const FramesView& frames, bool benign_only, const LearnFrom& from = {});

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>

#include "can/checksum/payload_checksum.h"
#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct FrameWindow;

/// The checksums in a vehicle's payloads, one an ID at most, found in benign traffic where every frame has
/// them (docs/detection.md#checksums). Of longer payloads the first eight bytes. Immutable once learned: any
/// number of threads may read.
class ChecksumModel {
 public:
  ChecksumModel() = default;
  /// Of the IDs [0, ids), by ID.
  ChecksumModel(Vector<PayloadChecksum, Tag::columns> checksums, int32_t ids)
      : checksums_(std::move(checksums)) {
    find_places(ids);
  }

  /// From the frames of these runs that are not labelled 1. At most 4 MiB beside the model, however many IDs
  /// and frames there are.
  static ChecksumModel learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                             const Vocabulary& vocabulary);

  std::span<const PayloadChecksum> checksums() const { return checksums_; }
  /// That of the ID of this index; null where it has none.
  const PayloadChecksum* of(int32_t id) const {
    const auto at = static_cast<size_t>(id);
    return at < of_id_.size() && of_id_[at] >= 0 ? &checksums_[static_cast<size_t>(of_id_[at])] : nullptr;
  }

  /// Frames of a window whose checksum is wrong.
  float broken(const FrameSpans& frames, const FrameWindow& window, const Vocabulary& vocabulary) const;

  /// As tensors "profile.checksum_place" and so on (docs/formats/safetensors.md); none where there is no
  /// checksum.
  NamedTensors tensors() const;
  /// From such tensors; empty where there are none. Errors: InputError that names a tensor that is misshapen
  /// or holds what no model has.
  static ChecksumModel from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  void find_places(int32_t ids);

  Vector<PayloadChecksum, Tag::columns> checksums_;  // by ID
  Vector<int32_t, Tag::columns> of_id_;              // place of each ID's, -1 for none
};

}  // namespace plimsoll

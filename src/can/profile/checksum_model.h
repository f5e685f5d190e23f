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

/// The checksums in a vehicle's payloads, at most one per ID, found in benign traffic. A checksum holds in
/// every benign frame of its ID (docs/detection.md#checksums). Only the first eight bytes of longer payloads
/// are used. Immutable once learned, so any number of threads may read.
class ChecksumModel {
 public:
  ChecksumModel() = default;
  /// `checksums` are sorted by ID; IDs are in [0, ids).
  ChecksumModel(Vector<PayloadChecksum, Tag::columns> checksums, int32_t ids)
      : checksums_(std::move(checksums)) {
    find_places(ids);
  }

  /// Learns from the frames of these runs that are not labelled 1. Needs at most 4 MiB in addition to the
  /// model, however many IDs and frames there are.
  static ChecksumModel learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                             const Vocabulary& vocabulary);

  std::span<const PayloadChecksum> checksums() const { return checksums_; }
  /// The checksum of the ID with this index; null if it has none.
  const PayloadChecksum* for_id(int32_t id) const {
    const auto at = static_cast<size_t>(id);
    return at < of_id_.size() && of_id_[at] >= 0 ? &checksums_[static_cast<size_t>(of_id_[at])] : nullptr;
  }

  /// Number of frames of a window whose checksum is wrong.
  float broken(const FrameSpans& frames, const FrameWindow& window, const Vocabulary& vocabulary) const;

  /// The model as tensors "profile.checksum_place" and so on (docs/formats/safetensors.md). Empty if there is
  /// no checksum.
  NamedTensors tensors() const;
  /// Reads the result of tensors(); empty if there are no such tensors. Errors: InputError that names a
  /// tensor that has a wrong shape or impossible values.
  static ChecksumModel from_tensors(const NamedTensors& tensors, int32_t ids);

 private:
  void find_places(int32_t ids);

  Vector<PayloadChecksum, Tag::columns> checksums_;  // Sorted by ID.
  Vector<int32_t, Tag::columns> of_id_;              // Index of each ID's checksum; -1 if it has none.
};

}  // namespace plimsoll

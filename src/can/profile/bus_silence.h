#pragma once

#include <cstdint>
#include <span>

#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct FrameWindow;

/// How long a bus carries no frame in benign traffic, and how it goes to sleep. A pause longer than
/// kLongestAwake is a sleep: controllers stop one after the other before it, so only few IDs are heard
/// shortly before the pause. If someone cuts off the bus, all IDs are heard until the pause starts.
struct BusSilence {
  static constexpr int64_t kLongestAwake = 1'000'000'000;  ///< Nanoseconds.
  /// IDs heard in this time before a pause count as heard until the pause starts.
  static constexpr int64_t kBefore = 1'000'000'000;  ///< Nanoseconds.
  /// Shorter pauses are jitter of the recording device.
  static constexpr int64_t kMin = 1'000'000;  ///< Nanoseconds.

  /// Longest gap between frames while awake, at least kMin; 0 if it was never learned.
  int64_t longest_ns = 0;
  /// Maximum number of IDs heard before a sleep; below 0 if no sleep was seen.
  int64_t ids_before_sleep = -1;

  /// Learns from all frames of these runs, whatever their labels. A run does not continue the one before.
  static BusSilence learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                          const Vocabulary& vocabulary);
  /// Extends this result by the result of other traffic.
  void add(const BusSilence& other);

  /// The result as tensor "profile.silence" (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// Reads the result of tensors(); not learned if there is no such tensor. Errors: InputError that names the
  /// tensor if it has a wrong shape or impossible values.
  static BusSilence from_tensors(const NamedTensors& tensors);
};

/// The time at which each ID of a bus was heard last. Not thread-safe.
class HeardIds {
 public:
  /// Forgets everything and prepares for IDs 0 .. ids-1.
  void begin(int32_t ids) { last_.assign(static_cast<size_t>(ids), kNever); }
  /// Records that the ID with this index was heard. An index out of range is ignored.
  void add(int32_t id, int64_t time_ns) {
    if (static_cast<size_t>(id) < last_.size()) last_[static_cast<size_t>(id)] = time_ns;
  }
  /// Number of IDs heard within BusSilence::kBefore of this time.
  int64_t count(int64_t time_ns) const;

 private:
  static constexpr int64_t kNever = INT64_MIN;
  Vector<int64_t, Tag::blocks> last_;
};

}  // namespace plimsoll

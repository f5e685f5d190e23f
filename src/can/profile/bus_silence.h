#pragma once

#include <cstdint>
#include <span>

#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

struct FrameWindow;

/// How long a bus is without any frame in benign traffic, and how it goes to sleep. A pause longer than
/// kLongestAwake is a sleep: before one, controllers stop one after the other, so that few IDs are heard
/// until the end. Of a bus that someone cuts off, all are.
struct BusSilence {
  static constexpr int64_t kLongestAwake = 1'000'000'000;  ///< ns
  /// The time before a pause in which IDs count as heard until the end.
  static constexpr int64_t kBefore = 1'000'000'000;  ///< ns
  /// What is shorter is the jitter of whoever records.
  static constexpr int64_t kMin = 1'000'000;  ///< ns

  int64_t longest_ns = 0;         ///< from a frame to the next, awake; 0: it was never learned
  int64_t ids_before_sleep = -1;  ///< the most that were heard before one; below 0: none was seen

  /// From all frames of these runs. A run does not go on from the one before.
  static BusSilence learn(const FrameSpans& frames, std::span<const FrameWindow> runs,
                          const Vocabulary& vocabulary);
  /// That of this traffic and of the other.
  void add(const BusSilence& other);

  /// As tensor "profile.silence" (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// From such a tensor; never learned where there is none. Errors: InputError that names the tensor if it is
  /// misshapen or holds what is impossible.
  static BusSilence from_tensors(const NamedTensors& tensors);
};

/// When each ID of a bus was heard last.
class HeardIds {
 public:
  void begin(int32_t ids) { last_.assign(static_cast<size_t>(ids), kNever); }
  /// Index of the ID; one that is not among these counts for nothing.
  void add(int32_t id, int64_t time_ns) {
    if (static_cast<size_t>(id) < last_.size()) last_[static_cast<size_t>(id)] = time_ns;
  }
  /// IDs within BusSilence::kBefore of this time.
  int64_t count(int64_t time_ns) const;

 private:
  static constexpr int64_t kNever = INT64_MIN;
  Vector<int64_t, Tag::blocks> last_;
};

}  // namespace plimsoll

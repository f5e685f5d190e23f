#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "can/frames/frames.h"
#include "can/profile/vocabulary.h"
#include "can/windows/windows.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

/// The rule that looks only at timing (docs/rules.md): a frame is suspicious if it follows the previous frame
/// of its ID sooner than in benign traffic; a window is suspicious if an ID occurs more often in it than in
/// benign windows. Immutable once learned: any number of threads may read.
class TimingRule {
 public:
  /// The share of an ID's benign gaps below its minimum gap.
  static constexpr double kQuantile = 0.01;
  /// An ID with fewer benign gaps has no minimum gap.
  static constexpr int64_t kMinGaps = 8;
  /// The score of a window that holds nothing to compare.
  static constexpr float kNothing = -30.0F;

  /// Learns from the frames labelled 0 of the windows `graphs`, ascending; ignores other frames. `windows`
  /// must be those of `frames`. Errors: InputError if there is no such frame; Interrupted.
  static TimingRule learn(const FramesView& frames, const WindowSource& windows,
                          std::span<const int64_t> graphs);

  /// Scores each window [G] by the maximum of ln(minimum gap / gap) over the frames of known IDs, and of
  /// ln(count / maximum count in a benign window) over known IDs; kNothing if there is neither. Scores above
  /// 0 are outside of what was learned. Labels are not read; a recording is read once, from its start.
  Vector<float, Tag::columns> scores(const FramesView& frames, const WindowSource& windows) const;

  /// The rule as tensors of a model file: "timing.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// Reads the rule from such tensors; `channels` holds the names by number. None if there is no
  /// "timing.ids". Errors: InputError that names a tensor that is missing, has a wrong shape or holds
  /// impossible values.
  static std::optional<TimingRule> from_tensors(const NamedTensors& tensors,
                                                std::vector<std::string> channels = {});

 private:
  struct Id {
    int64_t min_gap = 0;  // In nanoseconds; 0: there is none.
    int64_t max = 0;      // Maximum number of frames in a benign window.
  };
  struct Learner;
  struct Scorer;

  explicit TimingRule(Vocabulary ids);

  Vocabulary vocabulary_;
  Vector<Id, Tag::columns> ids_;  // By index.
};

}  // namespace plimsoll

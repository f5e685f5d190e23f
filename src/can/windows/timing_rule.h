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

/// The rule that looks at timing alone (docs/rules.md): a frame is suspect when it comes sooner after the
/// last one of its ID, or its ID more often in a window, than in benign traffic. Immutable once learned: any
/// number of threads may read.
class TimingRule {
 public:
  /// The share of an ID's benign gaps below its least gap.
  static constexpr double kQuantile = 0.01;
  /// With fewer benign gaps an ID has no least gap.
  static constexpr int64_t kFewest = 8;
  /// The score of a window that holds nothing to be compared.
  static constexpr float kNothing = -30.0F;

  /// From the frames labelled 0 of these windows, ascending; other frames are as if they were not there.
  /// `windows` must be those of `frames`. Errors: InputError when there is no such frame.
  static TimingRule learn(const FramesView& frames, const WindowSource& windows,
                          std::span<const int64_t> graphs);

  /// Of each window the worst of its known IDs: the maximum of log(least gap / gap) over their frames and of
  /// log(count / most in a benign window). Above 0 is outside of what was learned. Labels are not read; a
  /// recording is read once, from its begin.
  Vector<float, Tag::columns> scores(const FramesView& frames, const WindowSource& windows) const;

  /// As tensors of a model file, "timing.ids" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// From such tensors and the names of channels by number; nothing where there is no "timing.ids". Errors:
  /// InputError that names a tensor that is missing or misshapen.
  static std::optional<TimingRule> from_tensors(const NamedTensors& tensors,
                                                std::vector<std::string> channels = {});

 private:
  struct Id {
    int64_t min_gap = 0;  // nanoseconds; 0: none
    int64_t max = 0;      // frames in a window
  };
  struct Learner;
  struct Scorer;

  explicit TimingRule(Vocabulary ids);

  Vocabulary vocabulary_;
  Vector<Id, Tag::columns> ids_;  // by index
};

}  // namespace plimsoll

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "can/score/profile_statistics.h"
#include "memory/vector.h"
#include "store/named_tensors.h"

namespace plimsoll {

/// One of the numbers that a fused score is made of: the greater, the more a window looks like an attack.
struct FusedPart {
  std::string name;
  /// What exceeds the edge by less than this is no alarm, however little benign windows spread.
  float min_scale;
};

/// All parts: the profile statistics (can/score/profile_statistics.h) in their order, then "gat", log-odds,
/// and "vgae", the error of a reconstruction. What is not above 0 is benign in all of them.
inline constexpr size_t kFusedParts = kStatistics + 2;
const std::array<FusedPart, kFusedParts>& fused_parts();

/// The parts of windows, row by row: [windows, parts]. A part that was not asked for is NaN in all of them.
struct FusedRows {
  Vector<float, Tag::columns> values;

  static constexpr size_t kGat = kStatistics;  ///< the place of "gat" in a row
  static int64_t bytes(int64_t windows);       ///< that so many take

  int64_t size() const;
  std::span<const float> row(int64_t window) const;
  std::span<float> row(int64_t window);
  void add(std::span<const float> parts);
  /// More windows, of which no part was asked for yet.
  void add_empty(int64_t windows);

  /// As tensor "fusion.rows", and back. Errors: InputError where it is missing or misshapen.
  NamedTensors tensors() const;
  static FusedRows from_tensors(const NamedTensors& tensors);
};

/// One score of many parts: each is measured by how far it exceeds what benign windows have, in units of how
/// far these spread, and the worst of them is the score. Nothing is learned from attacks. 1 is the line above
/// which a window is called an attack. Immutable once learned: any number of threads may use it.
class Fusion {
 public:
  /// What tells of frames that come too soon. By a profile of the vehicle itself, `extra`: each ID has a
  /// level of its own, and an added frame is one event; the classifier, which other vehicles have taught,
  /// ranks windows and raises no alarm alone. Else `early` and `early_share`, where the classifier finds a
  /// window odd as well: several vehicles and drives have taught the profile.
  enum class Timing : uint8_t { supported, by_id };
  /// The edge is the value that this share of benign windows exceeds; the unit, from their median to it.
  static constexpr double kBeyondEdge = 0.01;

  /// A false-alarm rate, and the score that so many benign windows exceed, never below 1 on the scale of
  /// parts. Parts that have levels of their own are not asked for it.
  struct Line {
    double target_rate;
    double realised_rate;  ///< of the benign windows, by all parts
    float level;           ///< as a score
  };

  /// From benign windows that the profile was not learned from. The line is that of the rate of 0.1 %.
  /// Parts that no window has count for nothing, and those named by `without`. Errors: InputError when there
  /// is no window, or a part is no finite number in some of them.
  static Fusion learn(const FusedRows& benign, const std::vector<std::string>& without = {},
                      Timing timing = Timing::supported);

  /// Whether statistics count by a profile of the vehicle itself (Timing::by_id).
  bool is_by_id() const;
  /// NaN where a part that counts is NaN, or none does: what is no number is no clean bill.
  float score(std::span<const float> parts) const;
  /// What each part would score alone, by its place; NaN for those that count for nothing.
  std::array<float, kFusedParts> scores_by_part(std::span<const float> parts) const;
  /// At 1 % and at 0.1 %.
  const std::vector<Line>& lines() const { return lines_; }

  /// As tensors of a model file, "fusion.edge" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// From such tensors; nothing where there is no "fusion.edge". Errors: InputError that names a tensor that
  /// is missing, misshapen or holds impossible values.
  static std::optional<Fusion> from_tensors(const NamedTensors& tensors);

 private:
  using Parts = std::array<double, kFusedParts>;  // NaN: counts for nothing

  Parts excesses(std::span<const float> parts) const;
  double excess(std::span<const float> parts) const;  // the worst

  Parts edges_;
  Parts units_;
  double support_ = std::numeric_limits<double>::quiet_NaN();  // the edge of the classifier, however low
  bool gat_ranks_ = false;                                     // and raises no alarm alone
  std::vector<Line> lines_;
  double scale_ = 1;  // of the score: excess at the line
};

}  // namespace plimsoll

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

/// One of the numbers combined into a fused score: the greater it is, the more a window looks like an attack.
struct FusedPart {
  std::string name;
  /// A value that exceeds the edge (Fusion::kBeyondEdge) by less than this raises no alarm, however narrow
  /// the spread of benign windows is.
  float min_scale;
};

/// All parts: the profile statistics (can/score/profile_statistics.h) in their order, then "gat" (log-odds)
/// and "vgae" (reconstruction error). Values of at most 0 are benign in all of them.
inline constexpr size_t kFusedParts = kStatistics + 2;
const std::array<FusedPart, kFusedParts>& fused_parts();

/// The parts of windows, row by row: [windows, kFusedParts], in the order of fused_parts(). A part that was
/// not requested is NaN in all rows.
struct FusedRows {
  Vector<float, Tag::columns> values;

  static constexpr size_t kGat = kStatistics;  ///< The column of "gat" in a row.
  static int64_t bytes(int64_t windows);       ///< Bytes of `windows` rows.

  /// Number of windows.
  int64_t size() const;
  std::span<const float> row(int64_t window) const;
  std::span<float> row(int64_t window);
  /// Adds a window with these kFusedParts parts.
  void add(std::span<const float> parts);
  /// Adds windows whose parts are all NaN.
  void add_empty(int64_t windows);

  /// Converts to the tensor "fusion.rows", and back. Errors: InputError if it is missing or misshapen.
  NamedTensors tensors() const;
  static FusedRows from_tensors(const NamedTensors& tensors);
};

/// Combines many parts into one score. Each part is measured by how far it exceeds the values of benign
/// windows, relative to their spread (kBeyondEdge); the score is the greatest of these, scaled. Nothing is
/// learned from attacks. A window whose score is above 1 is called an attack. Immutable once learned: any
/// number of threads may use it.
class Fusion {
 public:
  /// The parts that detect frames that come too soon. `by_id` uses `extra`, with a profile of the vehicle
  /// itself: each ID has its own level, and an added frame is one event; the classifier, which was trained on
  /// other vehicles, ranks windows but raises no alarm alone. `supported`, with a profile learned from
  /// several vehicles and drives, uses `early` and `early_share` where the classifier also finds a window
  /// suspicious.
  enum class Timing : uint8_t { supported, by_id };
  /// The edge of a part is the value that this share of benign windows exceeds, at least 0. The excess of a
  /// value is its distance from the edge, divided by the distance from the median to the edge, or by
  /// FusedPart::min_scale if that is greater.
  static constexpr double kBeyondEdge = 0.01;

  /// A false-alarm rate, and the score that this share of benign windows exceeds, at least 1 on the scale of
  /// parts. Parts with their own levels are excluded.
  struct Line {
    double target_rate;
    double realised_rate;  ///< Share of the benign windows above the level, with all parts.
    float level;           ///< The level as a score.
  };

  /// Learns from benign windows that the profile was not learned from. A score of 1 is the level that 0.1 %
  /// of these windows exceed. Ignores parts that no window has and those named by `without`. Errors:
  /// InputError if there is no window, or a part is not a finite number in some of them; BudgetExceeded.
  static Fusion learn(const FusedRows& benign, const std::vector<std::string>& without = {},
                      Timing timing = Timing::supported);

  /// Whether statistics use a profile of the vehicle itself (Timing::by_id).
  bool is_by_id() const;
  /// The score of a row of FusedRows; NaN if a part that counts is NaN, or if no part counts, so that the
  /// window cannot pass for benign.
  float score(std::span<const float> parts) const;
  /// The score of each part alone, indexed as fused_parts(); NaN for parts that are ignored.
  std::array<float, kFusedParts> scores_by_part(std::span<const float> parts) const;
  /// The lines at 1 % and at 0.1 %.
  const std::vector<Line>& lines() const { return lines_; }

  /// The fusion as tensors of a model file: "fusion.edge" and so on (docs/formats/safetensors.md).
  NamedTensors tensors() const;
  /// Reads the result of tensors(); none if there is no "fusion.edge". Errors: InputError that names a tensor
  /// that is missing, misshapen or holds impossible values.
  static std::optional<Fusion> from_tensors(const NamedTensors& tensors);

 private:
  using Parts = std::array<double, kFusedParts>;  // NaN: the part is ignored.

  Parts excesses(std::span<const float> parts) const;
  double excess(std::span<const float> parts) const;  // The worst of excesses().

  Parts edges_;
  Parts units_;
  // The edge of the classifier, which may be negative.
  double support_ = std::numeric_limits<double>::quiet_NaN();
  bool gat_ranks_ = false;  // Whether the classifier ranks windows and raises no alarm alone.
  std::vector<Line> lines_;
  double scale_ = 1;  // The excess for which the score is 1.
};

}  // namespace plimsoll

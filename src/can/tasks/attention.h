#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "can/detector/focus.h"
#include "can/detector/window_scorer.h"
#include "can/tasks/evaluation.h"
#include "can/windows/windows.h"
#include "telemetry/report.h"

namespace plimsoll {

/// Shows what a trained detector's attention points at, window by window, without torch. Not thread-safe.
class AttendedWindows {
 public:
  /// `windows` must outlive the object. Errors: InputError if the model needs windows with other features;
  /// BudgetExceeded.
  AttendedWindows(const std::filesystem::path& model, const WindowSource& windows);

  /// Makes the graph of a window and scores it. Errors: BudgetExceeded.
  void read(int64_t graph);
  /// Values of the last window read: its log-odds, its graph without hidden columns, the message of each
  /// node.
  float score() const { return score_; }
  const GraphBlock& graph() const { return block_; }
  const MessageKeys& ids() const { return ids_; }
  const GatNetwork& network() const { return scorer_.network(); }
  Focus focus() const;
  bool is_known(MessageKey key) const { return vocabulary_.index(key) < vocabulary_.size(); }
  const std::vector<std::string>& channels() const { return vocabulary_.ids().channels; }
  const WindowSource& windows() const { return windows_; }

  /// Maximum bytes entered in the ledger, except for graphs of unusual size. `written` includes those of
  /// write_attention().
  static int64_t bytes(const std::filesystem::path& model, bool written);

 private:
  AttendedWindows(const DetectorFile& model, const WindowSource& windows);

  const WindowSource& windows_;
  Vocabulary vocabulary_;
  WindowScorer scorer_;
  GraphBlock block_;
  MessageKeys ids_;
  float score_ = 0;
};

/// Writes the attention of all windows on the lists as a data set of kind `attention`
/// (docs/formats/attention.md); replaces an existing one. `detector` provides name and seed, `data` the
/// provenance. `progress`, which must not be null, gets the number of windows written and the total; it may
/// throw to stop the work. Throws Failure if the output holds something else or the disk cannot be used, and
/// BudgetExceeded. On an error the output is unchanged.
void write_attention(const std::filesystem::path& out, AttendedWindows& attended,
                     std::span<const EvaluatedList> lists, const DetectorScores& detector, const Json& data,
                     const std::function<void(int64_t, int64_t)>& progress);

/// Draws the graphs of the windows of a list with the highest scores, at most four, with what attention
/// points at. `scores` [G] are those of all graphs of the source; none on the list may be NaN. Reads the
/// windows with `attended`. Errors: BudgetExceeded.
std::vector<Report::Figure> suspicious_windows(AttendedWindows& attended, const EvaluatedList& list,
                                               std::span<const float> scores);

}  // namespace plimsoll

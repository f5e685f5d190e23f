#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "store/graph_set.h"

namespace plimsoll {

/// One set of n points with F features each.
struct PointSet {
  Vector<float, Tag::ingest> pos;       ///< [n, 3].
  Vector<float, Tag::ingest> features;  ///< [n, F].
  int64_t label = -1;                   ///< Class of the set.

  int64_t points() const { return static_cast<int64_t>(pos.size()) / kCoordinates; }
  void clear() {
    pos.clear();
    features.clear();
    label = -1;
  }
};

/// A sequence of point sets. Not thread-safe. Errors of all functions: InputError that names file and line,
/// or set and point; Failure; BudgetExceeded.
class PointSource {
 public:
  virtual ~PointSource() = default;

  /// Replaces `set` with the next set; returns false after the last one.
  virtual bool next(PointSet& set) = 0;
  virtual const std::vector<std::string>& features() const = 0;  ///< Names of the F features.
  /// Number of sets; 0 if it is not known in advance.
  virtual int64_t sets() const { return 0; }

  /// Opens an array [sets, points, numbers] (.npy, f32), in which the first two or three numbers are
  /// coordinates, as `dimensions` says; 0 stands for three, or for two if there are only two. Otherwise opens
  /// a text with a header and the columns graph, x, y and, optionally, z and label, for which `dimensions`
  /// must be 0. All other numbers or columns are features. A missing z is 0. Errors: those above, and
  /// UsageError for `dimensions`.
  static std::unique_ptr<PointSource> open(const std::filesystem::path& path, int64_t dimensions);
};

}  // namespace plimsoll

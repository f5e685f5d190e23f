#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/graph/feature_names.h"
#include "ingest/text/delimited.h"
#include "memory/vector.h"

namespace plimsoll {

/// Which columns of the files are what.
struct EdgeListOptions {
  std::vector<std::filesystem::path> files = {};
  std::string source = "0";  ///< a column by its name or number from 0; for text alone
  std::string target = "1";
  std::string weight = {};                 ///< a column, or a .npy file; empty: none
  std::vector<std::string> features = {};  ///< columns, or one .npy file of [E, K]
  bool header = false;                     ///< there is one for sure; otherwise it is told by what it holds
};

/// Edges as they were read. n edges, W values each.
struct EdgeBatch {
  Vector<uint64_t, Tag::ingest> source, target;  ///< [n] IDs; of texts their hash64
  Vector<float, Tag::ingest> values;             ///< [n, W] the weight, if there is one, then the features
  Vector<char, Tag::ingest> texts;               ///< of sources and targets, in turn; empty for numbers
  Vector<uint32_t, Tag::ingest> text_ends;       ///< [2n], or empty

  size_t size() const { return source.size(); }
  void clear();
  /// One more than the greatest ID.
  uint64_t ids_end() const;
};

/// What an ID has to be.
struct IdRules {
  bool texts = false;
  uint64_t seed = 0;  ///< of the hash of texts
  /// Numbers below this are nodes.
  uint64_t limit = uint64_t{1} << 63;
  /// Or all IDs but this one are nodes: the first edge that has it is refused by file and line.
  std::optional<uint64_t> unknown = std::nullopt;
  std::string nodes = {};  ///< where the nodes are from, for error texts
};

/// One text of edges. `role` of each column: 0 source, 1 target, 2 + i the i-th value, -1 left out.
struct EdgeText {
  std::filesystem::path path;
  Delimited format;
  std::vector<int> role;
};

/// Edges from text (docs/giant-graphs.md), plain, .zst or .gz, or .npy arrays. It holds next to nothing: each
/// reading reads the files. Not thread-safe.
class EdgeList {
 public:
  /// Looks at the first lines of texts and the headers of arrays. Errors: InputError, UsageError.
  explicit EdgeList(EdgeListOptions options);

  /// Whether the first edge's ends are whole numbers.
  bool has_numbers() const { return numbers_; }
  bool has_weight() const { return !options_.weight.empty(); }
  const std::vector<std::string>& feature_names() const { return feature_names_.all(); }
  /// W: the weight and the features.
  size_t values() const { return feature_names_.size() + (has_weight() ? 1 : 0); }
  /// The sizes of what can be read apart: texts, in bytes, or arrays with what belongs to them, in edges.
  std::vector<int64_t> part_sizes() const;
  /// From now on only the parts [first, end) are read.
  void keep(std::pair<size_t, size_t> parts);
  /// The files with edges that are read; and those of .npy with weights and features, of all edges.
  std::vector<std::filesystem::path> edge_files() const;
  std::vector<std::filesystem::path> value_files() const;
  /// No more edges than this can come; a large number where that is not known.
  int64_t max_edges() const;

  /// Gives all edges in the order of the files, parsed on so many threads; `take` is called by one at a time,
  /// and gets the bytes of files read as well. Errors: InputError with file, line and column.
  void read(const IdRules& rules, int threads,
            const std::function<void(const EdgeBatch&, int64_t bytes)>& take) const;

 private:
  void open_text(const std::filesystem::path& path);
  void name_features();
  void read_arrays(const IdRules& rules, const std::function<void(const EdgeBatch&, int64_t)>& take) const;

  EdgeListOptions options_;
  FeatureNames feature_names_;
  std::vector<EdgeText> texts_;
  std::vector<std::vector<std::filesystem::path>> arrays_;  // one of [E, 2] or [2, E], or two of [E]
  int64_t rows_before_ = 0, rows_after_ = 0;                // of arrays that are not kept
  bool numbers_ = true;
};

}  // namespace plimsoll

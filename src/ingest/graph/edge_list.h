#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "ingest/graph/feature_names.h"
#include "ingest/graph/matrix_market.h"
#include "ingest/text/delimited.h"
#include "memory/vector.h"

namespace plimsoll {

/// The layout of an array of edges with two axes: rows for [E, 2], columns for [2, E].
enum class EdgeArrayLayout : uint8_t { rows, columns };
template <>
inline constexpr auto kWords<EdgeArrayLayout> = std::to_array<std::string_view>({"rows", "columns"});

/// The columns of edge files, by role.
struct EdgeListOptions {
  /// Texts, or arrays (.npy, .npz) of shape [E, 2] or [2, E], or pairs of arrays [E], sources before targets.
  std::vector<std::filesystem::path> files = {};
  std::string source = "0";  ///< A column, given by its name or its index from 0; for text only.
  std::string target = "1";
  std::string weight = {};                 ///< A column, or an array [E]; empty: no weights.
  std::vector<std::string> features = {};  ///< Columns, or one array [E, K].
  /// Whether texts have a header; nullopt: determined from their content.
  std::optional<bool> header = std::nullopt;
  Comments comments = Comments::leading;
  std::optional<EdgeArrayLayout> layout = {};  ///< Unset: determined by the shape of the array.
};

/// A batch of n edges with W values each.
struct EdgeBatch {
  Vector<uint64_t, Tag::ingest> source, target;  ///< [n] IDs; for text IDs, their hash64().
  Vector<float, Tag::ingest> values;             ///< [n, W]: the weight, if there is one, then the features.
  /// Text IDs, alternating source and target; empty for numbers.
  Vector<char, Tag::ingest> texts;
  Vector<uint32_t, Tag::ingest> text_ends;  ///< [2n], or empty.
  int64_t comments = 0;  ///< Number of lines before or between the edges that were skipped as comments.

  size_t size() const { return source.size(); }
  void clear();
  /// Returns the greatest ID plus one.
  uint64_t ids_end() const;
};

/// Rules for valid IDs.
struct IdRules {
  bool texts = false;  ///< Whether IDs are texts.
  uint64_t seed = 0;   ///< Seed of the hash of text IDs.
  /// Valid numeric IDs are below this.
  uint64_t limit = uint64_t{1} << 63;
  /// If set, an ID that is not valid, used to find its place: EdgeList::read() throws InputError with file
  /// and line for the first edge with this ID.
  std::optional<uint64_t> unknown = std::nullopt;
  /// End of the message for an ID that is no node, such as ", as --node-count says".
  std::string nodes = {};
  /// Whether to throw PaddedId for a number with a leading zero.
  bool refuse_padded = false;
  bool row_is_id = false;  ///< Whether IDs are 0 .. V-1 and row r of an array belongs to ID r.
};

/// Thrown for an ID such as 007 if it is not known whether IDs are numbers. The text has its place,
/// `where`, and the ID; the caller that catches it adds the remedy.
struct PaddedId : InputError {
  PaddedId(const std::string& where, const std::string& id)
      : InputError(where + ": found the ID '" + id + "', whose zeros a number would lose") {}
};

/// One text file of edges. `role` is the role of each column: 0 source, 1 target, 2 + i the i-th value, -1
/// ignored.
struct EdgeText {
  std::filesystem::path path;
  Delimited format = {};
  std::vector<int> role = {};
  Comments comments = Comments::leading;
  std::optional<MatrixMarket> matrix = std::nullopt;
};

/// Reads edges from text (docs/giant-graphs.md; plain, zstd or gzip), from MatrixMarket, or from .npy arrays.
/// It keeps no edges: each call of read() reads the files again. Not thread-safe.
class EdgeList {
 public:
  /// Opens the files: reads the first lines of texts and the headers of arrays. Errors: InputError,
  /// UsageError, Failure, BudgetExceeded.
  explicit EdgeList(EdgeListOptions options);

  /// Whether the ends of the first edge of every text are whole numbers; true for arrays.
  bool has_numbers() const { return numbers_; }
  bool has_weight() const { return !options_.weight.empty(); }
  const std::vector<std::string>& feature_names() const { return feature_names_.all(); }
  /// Returns W: the number of features, plus one if there is a weight.
  size_t values() const { return feature_names_.size() + (has_weight() ? 1 : 0); }
  /// Returns the sizes of the parts that can be read separately: the bytes of each text, or the number of
  /// edges of each array or pair of arrays. Errors: InputError (a text that is not a regular file).
  std::vector<int64_t> part_sizes() const;
  /// Restricts reading to the parts parts.first .. parts.second - 1. Call it once at most.
  void keep(std::pair<size_t, size_t> parts);
  /// edge_files() returns the files of the edges that are read; value_files() returns the .npy files with the
  /// weights and features of all edges.
  std::vector<std::filesystem::path> edge_files() const;
  std::vector<std::filesystem::path> value_files() const;
  /// Number of nodes that MatrixMarket files state; -1 for other lists.
  int64_t nodes() const;
  /// Returns the file that states nodes(). Call it only if nodes() is not -1.
  std::string nodes_place() const;
  /// Returns sentences about input that is read in a way that the user may not expect: values that are
  /// rounded, columns in another order, and, unless `ids_are_given`, IDs that are read as texts.
  std::vector<std::string> notes(bool ids_are_given) const;
  /// Number of texts whose first line is a header.
  int64_t headers() const;
  /// Returns an upper bound of the number of edges, which is a large number if nothing is known.
  int64_t max_edges() const;

  /// Reads all edges in the order of the files. Texts are parsed on up to `threads` threads; fewer are used
  /// if the ledger has no memory for them. `take` is called by one thread at a time, which need not be the
  /// caller's, with a batch of edges and the approximate number of bytes read so far. A batch has the
  /// edges of 256 KiB of text, or up to 65,536 edges of an array, whose values are in memory. Errors:
  /// InputError with file, line and column, or row; UsageError (text IDs in arrays or MatrixMarket);
  /// PaddedId; Failure; BudgetExceeded; those of `take`.
  void read(const IdRules& rules, int threads,
            const std::function<void(const EdgeBatch&, int64_t bytes)>& take) const;

 private:
  void open_text(const std::filesystem::path& path);
  bool has_header(const EdgeText& text) const;
  void detect_header(EdgeText& text, size_t source, size_t target);
  void name_features();
  std::vector<std::filesystem::path> value_paths() const;
  void read_arrays(const IdRules& rules, const std::function<void(const EdgeBatch&, int64_t)>& take) const;

  EdgeListOptions options_;
  FeatureNames feature_names_;
  std::vector<EdgeText> texts_;
  // Each entry is one array [E, 2] or [2, E], or two arrays [E].
  std::vector<std::vector<std::filesystem::path>> arrays_;
  int64_t rows_before_ = 0, rows_after_ = 0;  // Number of rows before and after the kept rows of arrays.
  bool numbers_ = true;
};

}  // namespace plimsoll

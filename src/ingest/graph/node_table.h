#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/graph/feature_names.h"
#include "ingest/graph/text_rows.h"
#include "ingest/text/delimited.h"
#include "ingest/text/line_reader.h"
#include "io/number_array.h"

namespace plimsoll {

/// The files with the data of nodes, one row per node: a text, and arrays with the same number of rows.
struct NodeTableOptions {
  std::filesystem::path table = {};  ///< Text, plain, zstd or gzip; empty: no text.
  /// Whether the text has a header; nullopt: it has one if options name columns, or if its first ID is not a
  /// number. If the first line may be either, the constructor throws UsageError.
  std::optional<bool> header = std::nullopt;
  std::string id = {};     ///< Column of the IDs; empty: the first. Text only.
  std::string label = {};  ///< Column of the labels; empty: no labels.
  std::string split = {};  ///< Column whose values are train, valid, test or none; empty: no splits.
  /// Columns of features; a field may hold several numbers separated by blanks.
  std::vector<std::string> features = {};
  /// Value for features that are empty, NA or NaN; nullopt: such features are an error.
  std::optional<float> missing = std::nullopt;
  std::string unlabelled = {};  ///< A label that stands for no label, in addition to empty fields and -1.
  /// Numbers [V, F] (number_array.h), or a text with V rows of F fields and without a header.
  std::filesystem::path feature_array = {};
  RawArray feature_layout = {};  ///< Type and shape of feature_array if it has no header.
  bool link = false;             ///< Whether to link the file of features instead of reading it row by row.
  /// Whole numbers [V] or [V, 1], -1 or NaN for unlabelled; or a text with one number per line.
  std::filesystem::path label_array = {};
  std::filesystem::path target_array = {};  ///< Values to predict, [V] or [V, T], NaN if unknown.
};

/// Reads the data of nodes row by row. Not thread-safe. Errors of all functions: InputError with file and
/// line, or row; UsageError (options); Failure; BudgetExceeded.
class NodeTable {
 public:
  /// Reads the header, and the first row to find the number of features.
  explicit NodeTable(NodeTableOptions options);

  /// Whether there is any node data.
  bool exists() const { return has_ids() || rows_ >= 0 || text_features_ || text_labels_; }
  /// Number of values to predict per node, T; 0: none.
  size_t target_width() const {
    return options_.target_array.empty() ? 0 : static_cast<size_t>(targets_.columns());
  }
  const NodeTableOptions& options() const { return options_; }
  /// Whether rows have IDs; otherwise row r belongs to node r.
  bool has_ids() const { return !options_.table.empty(); }
  /// Number of rows. For texts it is -1 until scan() has counted them.
  int64_t rows() const { return rows_; }
  /// Number of features per node, F.
  size_t width() const { return names_.size(); }
  /// Whether rows have features, that is, features are not linked.
  bool has_features() const { return width() > 0 && !options_.link; }
  bool has_labels() const { return !options_.label.empty() || !options_.label_array.empty(); }
  /// Adds a label of rows that are not in this table, so that classes are numbered as if they were. Call it
  /// before scan(). Errors: BudgetExceeded.
  void add_known_label(std::string label) { add_label(std::move(label)); }
  /// Returns the class of a label that a row has, or that was added. Valid after scan().
  int64_t class_of(const std::string& label) const { return labels_seen_.at(label); }
  bool has_splits() const { return !options_.split.empty(); }
  const std::vector<std::string>& feature_names() const { return names_.all(); }
  std::vector<std::filesystem::path> files() const;
  /// The first file, for error messages. There must be one.
  std::string path() const { return files().front().string(); }
  /// Returns sentences about values that are rounded.
  std::vector<std::string> notes() const;

  /// Reads IDs and labels. Must be called once, before read(). `take` is called with the ID of each row of a
  /// text, and may throw errors of the reader `at`.
  void scan(const std::function<void(std::string_view id, const LineReader& at)>& take);
  /// The line of the text that has the first row; known after scan().
  int64_t first_line() const { return first_line_; }
  /// classes() is the number of classes, 0 without labels; class_names() is empty if the labels are the whole
  /// numbers from 0 without gaps, or from an array. Both are known after scan().
  int64_t classes() const { return classes_; }
  const std::vector<std::string>& class_names() const { return class_names_; }

  struct Row {
    Vector<float, Tag::ingest> x;        ///< [F]; empty if features are linked.
    Vector<float, Tag::ingest> targets;  ///< [T].
    int64_t y = -1;
    int split = -1;  ///< Index into kGraphSplits.
  };
  /// Reads all rows, in order, after scan(). A row is valid during the call of `take`.
  void read(const std::function<void(const Row&)>& take) const;

 private:
  struct Columns {
    size_t needed = 0;
    size_t id = 0;
    std::optional<size_t> label, split;
    std::vector<size_t> features;
    std::vector<size_t> widths;  // Number of features in each of these columns.
  };
  void open_table();
  bool has_header(size_t id) const;
  bool next_row(LineReader& lines, std::string_view& line) const;
  void read_features(const LineReader& lines, const std::vector<std::string_view>& fields, Row& row) const;
  void open_arrays();
  void open_features();
  void open_labels();
  void open_targets();
  void read_targets(int64_t r, Row& row) const;
  void require_rows(int64_t rows, const std::filesystem::path& path);
  void require_linkable() const;
  std::string array_path() const;  // The first array, for error messages.
  void scan_text_arrays();
  void scan_labels();
  void add_label(std::string label);
  void number_classes();
  bool is_unlabelled(std::string_view label) const;
  void cut(std::string_view line, const LineReader& at, std::vector<std::string_view>& fields) const;
  void read_text_row(LineReader& lines, std::vector<std::string_view>& fields, Row& row) const;
  void read_array_row(int64_t r, Row& row) const;
  void read_text_features(TextRows& rows, Row& row) const;
  int64_t text_label(const TextRows& rows) const;
  float feature(std::string_view word, const LineReader& at) const;
  int64_t label_at(int64_t r) const;

  NodeTableOptions options_;
  Delimited format_;
  Columns columns_;
  FeatureNames names_;
  NumberArray features_, labels_, targets_;
  bool text_features_ = false, text_labels_ = false;  // Whether features and labels are texts.
  int64_t rows_ = -1;
  int64_t first_line_ = 2;
  Charge charge_{Tag::ingest};  // Memory of the labels and names of classes.
  std::map<std::string, int64_t, std::less<>> labels_seen_;
  int64_t classes_ = 0;
  std::vector<std::string> class_names_;
};

}  // namespace plimsoll

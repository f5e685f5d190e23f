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
#include "ingest/text/delimited.h"
#include "ingest/text/line_reader.h"
#include "io/npy.h"

namespace plimsoll {

/// What is known of nodes, a row each: a text with a header, and arrays with as many rows.
struct NodeTableOptions {
  std::filesystem::path table = {};        ///< text, plain, .zst or .gz; empty: none
  std::string id = {};                     ///< column of the IDs; empty: the first. Text alone
  std::string label = {};                  ///< column; empty: none
  std::string split = {};                  ///< column: train, valid, test or none; empty: none
  std::vector<std::string> features = {};  ///< columns; a field may hold several numbers with blanks between
  std::string unlabelled = {};             ///< the label that means none, beside empty fields and -1
  std::filesystem::path feature_array = {};  ///< .npy of f32, f16, u8 or i8 [V, F]
  std::filesystem::path label_array = {};    ///< .npy of whole numbers [V], -1 unlabelled
};

/// Nodes row by row. Not thread-safe. Errors of all: InputError with file and line, or row.
class NodeTable {
 public:
  /// Looks at the header, and at the first row for the width of features.
  explicit NodeTable(NodeTableOptions options);

  /// Whether anything is known of nodes.
  bool exists() const { return has_ids() || rows_ >= 0; }
  /// Whether rows have IDs; otherwise row r is that of node r.
  bool has_ids() const { return !options_.table.empty(); }
  /// How many rows; of a text after scan().
  int64_t rows() const { return rows_; }
  /// F
  size_t width() const { return names_.size(); }
  bool has_labels() const { return !options_.label.empty() || !options_.label_array.empty(); }
  bool has_splits() const { return !options_.split.empty(); }
  const std::vector<std::string>& feature_names() const { return names_.all(); }
  std::vector<std::filesystem::path> files() const;
  /// The first of them, for error texts.
  std::string path() const { return files().front().string(); }

  /// Reads IDs and labels, once, before read(). `take` gets the ID of each row of a text and may throw
  /// refusals by way of the reader.
  void scan(const std::function<void(std::string_view id, const LineReader& at)>& take);
  /// After scan(): the line of the text with the first row.
  int64_t first_line() const { return first_line_; }
  /// After scan(): -1, or whole numbers from 0; names of the classes unless they are these numbers.
  int64_t classes() const { return classes_; }
  const std::vector<std::string>& class_names() const { return class_names_; }

  struct Row {
    Vector<float, Tag::ingest> x;  ///< [F]
    int64_t y = -1;
    int split = -1;  ///< counts in kGraphSplits
  };
  /// All rows, in order.
  void read(const std::function<void(const Row&)>& take) const;

 private:
  struct Columns {
    size_t needed = 0;
    size_t id = 0;
    std::optional<size_t> label, split;
    std::vector<size_t> features;
  };
  void open_table();
  void open_arrays();
  void add_label(std::string label);
  void number_classes();
  bool is_unlabelled(std::string_view label) const;
  void cut(std::string_view line, const LineReader& at, std::vector<std::string_view>& fields) const;
  void read_text_row(LineReader& lines, std::vector<std::string_view>& fields, Row& row) const;
  void read_array_row(int64_t r, Row& row) const;

  NodeTableOptions options_;
  Delimited format_;
  Columns columns_;
  FeatureNames names_;
  NpyView features_, labels_;
  int64_t rows_ = -1;
  int64_t first_line_ = 2;
  Charge charge_{Tag::ingest};  // of the labels and names of classes
  std::map<std::string, int64_t, std::less<>> labels_seen_;
  int64_t classes_ = 0;
  std::vector<std::string> class_names_;
};

}  // namespace plimsoll

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// Metrics published by others, shown next to ours (docs/command-line.md, `--compare`).
class Published {
 public:
  struct Model {
    std::string name;
    std::optional<double> f1;
    std::optional<double> auc;
  };

  /// Reads {source, splits: [{name, models: [{name, f1, auc}]}]}; `notes` and other fields are kept in
  /// content(). Errors: InputError that names the file and what is missing.
  explicit Published(const std::filesystem::path& path);

  const std::string& source() const { return source_; }
  /// Remarks on the metrics: the field `notes`, or nothing.
  const std::string& notes() const { return notes_; }
  /// The models on a split of this name, whatever folders precede the name.
  std::vector<Model> models(const std::string& split) const;
  /// The number of windows on which the split's metrics were measured: its field `graphs`.
  std::optional<int64_t> graphs(const std::string& split) const;
  /// The contents of the file.
  const Json& content() const { return content_; }

 private:
  Json content_;
  std::string source_;
  std::string notes_;
};

}  // namespace plimsoll

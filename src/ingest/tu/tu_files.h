#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "io/input_stream.h"

namespace plimsoll {

/// The files NAME_A.txt, NAME_graph_indicator.txt, ... of one data set in TU format, wherever they lie. Not
/// thread-safe.
class TuFiles {
 public:
  virtual ~TuFiles() = default;

  /// `kind` is what stands between NAME_ and .txt: "A", "graph_labels".
  virtual bool has(const std::string& kind) const = 0;
  /// Errors: InputError if there is none, or as InputStream::open.
  virtual std::unique_ptr<InputStream> open(const std::string& kind) const = 0;
  /// Where a file lies, for error texts.
  virtual std::string path(const std::string& kind) const = 0;

  /// [{"source", "bytes", "hash"}] of what is read; reads it whole.
  virtual Json sources() const = 0;
  virtual int64_t bytes() const = 0;

  /// Those in a folder (docs/tu.md). Errors: InputError if it holds none, or several data sets.
  static std::unique_ptr<TuFiles> in_folder(const std::filesystem::path& folder);
  /// Those in a zip archive, in any folder of it. Errors: likewise, and as ZipArchive.
  static std::unique_ptr<TuFiles> in_zip(const std::filesystem::path& archive);
};

}  // namespace plimsoll

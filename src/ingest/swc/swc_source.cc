#include "ingest/swc/swc_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "ingest/swc/tar_reader.h"
#include "ingest/text/source_files.h"
#include "io/input_stream.h"
#include "io/zip_archive.h"
#include "memory/charge.h"
#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Text = Vector<char, Tag::ingest>;

constexpr int64_t kMaxBytes = int64_t{1} << 30;  // Maximum size of one file.

std::string_view without_packing(std::string_view name) {
  for (const std::string_view ending : {".zst", ".gz"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return name;
}

bool is_swc(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return (name.ends_with(".swc") || name.ends_with(".SWC")) && !name.starts_with('.') &&
         path.find("__MACOSX/") == std::string_view::npos;
}

std::string_view without_dot(std::string_view name) {
  return name.starts_with("./") ? name.substr(2) : name;
}

// Returns the bytes of a path in a growing list, which temporarily exists twice.
int64_t bytes_of(const fs::path& path) {
  return 2 * static_cast<int64_t>(sizeof(fs::path)) + heap_bytes(path);
}

void read_all(InputStream& stream, const std::string& name, Text& text) {
  constexpr size_t kPiece = 1 << 18;
  text.clear();
  for (;;) {
    const size_t held = text.size();
    if (static_cast<int64_t>(held) > kMaxBytes)
      throw InputError(name + ": has more than 1 GiB, expected the points of one neuron");
    if (text.capacity() < held + kPiece) text.reserve(std::max(2 * text.capacity(), held + kPiece));
    text.resize(held + kPiece);
    const size_t got = stream.read(text.data() + held, kPiece);
    text.resize(held + got);
    if (got == 0) return;
  }
}

/// Files on disk, with their names relative to their source.
class SwcFiles : public SwcSource {
 public:
  explicit SwcFiles(const fs::path& source) : source_(source), charge_(Tag::ingest) {
    if (!fs::is_directory(source)) {
      paths_.push_back(source);
      return;
    }
    visit_files(source, [&](const fs::path& path) {
      if (!is_swc(without_packing(path.generic_string()))) return;
      charge_.add(bytes_of(path));
      paths_.push_back(path);
    });
    std::ranges::sort(paths_);
  }

  bool next(std::string& name, Text& text) override {
    if (at_ == paths_.size()) return false;
    const fs::path& path = paths_[at_++];
    const std::string below =
        path == source_ ? path.filename().string() : path.lexically_relative(source_).generic_string();
    name = without_packing(below);
    read_all(*InputStream::open(path), path.string(), text);
    return true;
  }
  const std::vector<fs::path>& paths() const { return paths_; }

 private:
  fs::path source_;
  Charge charge_;
  std::vector<fs::path> paths_;
  size_t at_ = 0;
};

class TarFiles : public SwcSource {
 public:
  explicit TarFiles(const fs::path& path) : tar_(path), path_(path.string()) {}

  bool next(std::string& name, Text& text) override {
    while (tar_.next()) {
      if (!is_swc(tar_.name())) continue;
      name = without_dot(tar_.name());
      if (tar_.bytes() > kMaxBytes)
        throw InputError(
            fmt::format("{}:{}: has more than 1 GiB, expected the points of one neuron", path_, name));
      text.resize(static_cast<size_t>(tar_.bytes()));
      tar_.read(text.data(), text.size());
      return true;
    }
    return false;
  }

 private:
  TarReader tar_;
  std::string path_;
};

class ZipMembers : public SwcSource {
 public:
  explicit ZipMembers(const fs::path& path) : archive_(path), path_(path.string()) {}

  bool next(std::string& name, Text& text) override {
    for (; at_ < archive_.members(); ++at_) {
      if (!is_swc(archive_.name(at_))) continue;
      name = without_dot(archive_.name(at_));
      read_all(*archive_.open(at_++), fmt::format("{}:{}", path_, name), text);
      return true;
    }
    return false;
  }

 private:
  ZipArchive archive_;
  std::string path_;
  int64_t at_ = 0;
};

class Chain : public SwcSource {
 public:
  explicit Chain(const std::vector<fs::path>& sources) : sources_(sources) {}

  bool next(std::string& name, Text& text) override {
    for (;; ++at_) {
      if (present_ != nullptr && present_->next(name, text)) return true;
      if (at_ == sources_.size()) return false;
      present_ = open_one(sources_[at_]);
    }
  }

 private:
  static std::unique_ptr<SwcSource> open_one(const fs::path& path) {
    if (path.extension() == ".zip") return std::make_unique<ZipMembers>(path);
    if (without_packing(path.string()).ends_with(".tar")) return std::make_unique<TarFiles>(path);
    return std::make_unique<SwcFiles>(path);
  }

  std::vector<fs::path> sources_;
  std::unique_ptr<SwcSource> present_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<SwcSource> SwcSource::open(const std::vector<fs::path>& sources) {
  return std::make_unique<Chain>(sources);
}

std::vector<fs::path> SwcSource::files(const std::vector<fs::path>& sources, Charge& charge) {
  std::vector<fs::path> files;
  for (const fs::path& source : sources) {
    if (!fs::exists(source)) throw InputError("no such file or folder: " + source.string());
    const SwcFiles of_source(source);
    const std::vector<fs::path>& found = of_source.paths();
    if (found.empty()) throw InputError(source.string() + ": holds no file *.swc");
    for (const fs::path& path : found) charge.add(bytes_of(path));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace plimsoll

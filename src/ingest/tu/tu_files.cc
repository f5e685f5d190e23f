#include "ingest/tu/tu_files.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"
#include "io/source_reader.h"
#include "io/zip_archive.h"
#include "memory/vector.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// The file that every data set has; what stands before this ending names the others.
constexpr std::string_view kMark = "_graph_indicator.txt";
constexpr std::array<const char*, 8> kKinds = {
    "A",           "graph_indicator", "graph_labels",    "node_labels", "node_attributes",
    "edge_labels", "edge_attributes", "graph_attributes"};

// Takes names in turn and keeps what stands before the mark in the one that has it. What macOS adds to
// archives, and hidden files, are no data.
class Prefix {
 public:
  explicit Prefix(std::string place) : place_(std::move(place)) {}

  void offer(std::string_view name) {
    const std::string_view last = name.substr(name.rfind('/') + 1);
    if (!last.ends_with(kMark) || last.size() == kMark.size() || last.starts_with('.')) return;
    const std::string_view prefix = name.substr(0, name.size() - kMark.size());
    if (!prefix_.empty() && prefix != prefix_)
      throw InputError(fmt::format("{}: holds several data sets ({} and {}); expected one: keep them apart",
                                   place_, std::min<std::string_view>(prefix_, prefix),
                                   std::max<std::string_view>(prefix_, prefix)));
    prefix_ = prefix;
  }
  std::string take() {
    if (prefix_.empty())
      throw InputError(
          fmt::format("{}: holds no NAME{}; expected a data set in TU format with NAME_A.txt, "
                      "NAME{} and NAME_graph_labels.txt or NAME_graph_attributes.txt",
                      place_, kMark, kMark));
    return std::move(prefix_);
  }

 private:
  std::string place_;
  std::string prefix_;
};

InputError missing(const std::string& path) {
  return InputError(path + ": no such file; a data set in TU format needs it: fetch the data again");
}

class FolderFiles : public TuFiles {
 public:
  explicit FolderFiles(fs::path folder) : folder_(std::move(folder)) {
    Prefix prefix(folder_.string());
    std::error_code failed;
    for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed))
      prefix.offer(entry->path().filename().string());
    if (failed) throw InputError(fmt::format("{}: cannot be read ({})", folder_.string(), failed.message()));
    name_ = prefix.take();
  }

  // Anything but a plain file could keep a reader waiting.
  bool has(const std::string& kind) const override { return fs::is_regular_file(folder_ / file(kind)); }
  std::unique_ptr<InputStream> open(const std::string& kind) const override {
    if (!has(kind)) throw missing(path(kind));
    return InputStream::open(folder_ / file(kind));
  }
  std::string path(const std::string& kind) const override { return (folder_ / file(kind)).string(); }

  Json sources() const override {
    Json sources = Json::array();
    Vector<char, Tag::ingest> buffer(1 << 20);
    for (const char* kind : kKinds) {
      if (!has(kind)) continue;
      SourceReader reader(folder_ / file(kind));
      while (reader.read(buffer.data(), buffer.size()) > 0) {
      }
      sources.push_back({{"source", file(kind)}, {"bytes", reader.bytes_read()}, {"hash", reader.hash()}});
    }
    return sources;
  }
  int64_t bytes() const override {
    int64_t bytes = 0;
    for (const char* kind : kKinds)
      if (has(kind)) bytes += static_cast<int64_t>(fs::file_size(folder_ / file(kind)));
    return bytes;
  }

 private:
  std::string file(const std::string& kind) const { return fmt::format("{}_{}.txt", name_, kind); }

  fs::path folder_;
  std::string name_;
};

class ZipFiles : public TuFiles {
 public:
  explicit ZipFiles(const fs::path& path) : archive_(path), path_(path) {
    Prefix prefix(path.string());
    for (int64_t member = 0; member < archive_.members(); ++member)
      if (!archive_.name(member).starts_with("__MACOSX/")) prefix.offer(archive_.name(member));
    name_ = prefix.take();
  }

  bool has(const std::string& kind) const override { return find(kind) >= 0; }
  std::unique_ptr<InputStream> open(const std::string& kind) const override {
    const int64_t member = find(kind);
    if (member < 0) throw missing(path(kind));
    return archive_.open(member);
  }
  std::string path(const std::string& kind) const override {
    return fmt::format("{}:{}", path_.string(), file(kind));
  }

  Json sources() const override {
    return Json::array(
        {{{"source", path_.filename().string()}, {"bytes", bytes()}, {"hash", archive_.hash()}}});
  }
  int64_t bytes() const override { return archive_.bytes(); }

 private:
  std::string file(const std::string& kind) const { return fmt::format("{}_{}.txt", name_, kind); }
  int64_t find(const std::string& kind) const {
    const std::string wanted = file(kind);
    for (int64_t member = 0; member < archive_.members(); ++member)
      if (archive_.name(member) == wanted) return member;
    return -1;
  }

  ZipArchive archive_;
  fs::path path_;
  std::string name_;
};

}  // namespace

std::unique_ptr<TuFiles> TuFiles::in_folder(const fs::path& folder) {
  return std::make_unique<FolderFiles>(folder);
}

std::unique_ptr<TuFiles> TuFiles::in_zip(const fs::path& archive) {
  return std::make_unique<ZipFiles>(archive);
}

}  // namespace plimsoll

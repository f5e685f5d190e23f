#include "ingest/text/source_files.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "memory/heap_bytes.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

/// A set of paths whose memory is entered in the ledger.
class PathSet {
 public:
  /// Returns false if the path was already present.
  bool insert(const fs::path& path) {
    if (paths_.contains(path)) return false;
    charge_.add(bytes_of(path));
    paths_.insert(path);
    return true;
  }
  bool empty() const { return paths_.empty(); }
  fs::path take_first() {
    fs::path first = std::move(paths_.extract(paths_.begin()).value());
    charge_.shrink(charge_.bytes() - bytes_of(first));
    return first;
  }

 private:
  static int64_t bytes_of(const fs::path& path) {
    constexpr size_t kLinks = 32;  // Bytes of pointers per tree node.
    return heap_piece(kLinks + sizeof(fs::path)) + heap_bytes(path);
  }

  Charge charge_{Tag::ingest};
  std::set<fs::path> paths_;
};

void visit_all(const fs::path& root, const std::function<void(const fs::path&)>& visit) {
  PathSet seen, folders, links;  // Folders that are reached without a link are visited first.
  seen.insert(fs::canonical(root));
  folders.insert(root);
  while (!folders.empty() || !links.empty()) {
    const bool by_link = folders.empty();
    const fs::path folder = by_link ? links.take_first() : folders.take_first();
    if (by_link && !seen.insert(fs::canonical(folder))) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::error_code unreachable;
      if (entry.is_regular_file(unreachable)) visit(entry.path());
      if (!entry.is_directory(unreachable)) continue;
      if (entry.is_symlink()) {
        links.insert(entry.path());
      } else if (seen.insert(fs::canonical(entry.path()))) {
        folders.insert(entry.path());
      }
    }
  }
}

}  // namespace

void visit_files(const fs::path& root, const std::function<void(const fs::path&)>& visit) {
  try {
    visit_all(root, visit);
  } catch (const fs::filesystem_error& error) {
    throw InputError(fmt::format("{}: cannot be read ({})",
                                 (error.path1().empty() ? root : error.path1()).string(),
                                 error.code().message()));
  }
}

}  // namespace plimsoll

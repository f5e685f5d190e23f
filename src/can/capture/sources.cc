#include "can/capture/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "ingest/text/source_files.h"
#include "io/file_ending.h"
#include "memory/heap_bytes.h"
#include "store/split_name.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Endings of captures, to which .zst or .gz may be added. Error texts list them too, except the endings of
// databases, which are found only so that FrameReader::open() can say how to convert them.
constexpr std::string_view kEndings[] = {".csv",  ".log",    ".txt", ".tsv", ".asc",    ".blf",    ".mf4",
                                         ".pcap", ".pcapng", ".trc", ".db",  ".sqlite", ".sqlite3"};
constexpr const char* kExpected =
    "*.csv, *.log, *.txt, *.tsv, *.asc, *.blf, *.mf4, *.pcap, *.pcapng or *.trc, perhaps with .zst or .gz";

std::optional<std::string> capture_name(const fs::path& path) {
  fs::path name = path.filename();
  if (is_compressed_name(name)) name = name.stem();
  if (std::ranges::find(kEndings, lower_ending(name)) == std::end(kEndings)) return std::nullopt;
  return name.stem().string();
}

CaptureFile describe(const fs::path& path, const fs::path& root, std::string name, const std::string& named) {
  const fs::path below = path.lexically_relative(root);
  std::string split = below.parent_path().generic_string();
  if (split.empty()) split = named;
  if (split.empty()) split = fs::absolute(root).lexically_normal().filename().string();
  if (split.empty()) split = fs::absolute(root).lexically_normal().parent_path().filename().string();
  std::optional<std::string> attack = attack_from_name(name);
  return {path, std::move(name), std::move(split), below.generic_string(), std::move(attack)};
}

// Memory of an entry of a growing vector, which holds its old and its new memory at the same time.
int64_t bytes_of(const CaptureFile& file) {
  int64_t bytes = 2 * static_cast<int64_t>(sizeof(CaptureFile)) + heap_bytes(file.path);
  for (const std::string* text : {&file.name, &file.split, &file.source}) bytes += heap_bytes(*text);
  return bytes + (file.attack ? heap_bytes(*file.attack) : 0);
}

// Folders of a data logger, named by serial number and session, are not splits. If none of them is a training
// split but `split` is one, all captures belong to `split`, and the names of captures in folders start with
// these folders.
void train_on_all(std::vector<CaptureFile>& captures, const std::string& split, Charge& charge) {
  const auto trains = [](const CaptureFile& file) { return is_training_split(file.split); };
  const auto lies_in_folder = [](const CaptureFile& file) { return fs::path(file.source).has_parent_path(); };
  const auto is_split = [&](const CaptureFile& file) { return lies_in_folder(file) && trains(file); };
  if (!is_training_split(split) || std::ranges::any_of(captures, is_split)) return;
  for (CaptureFile& file : captures) {
    if (!lies_in_folder(file)) continue;
    std::string folder = std::exchange(file.split, split);
    std::ranges::replace(folder, '/', '_');
    file.name = folder + "_" + file.name;
    charge.add(heap_bytes(file.name));
  }
}

}  // namespace

bool is_capture(const fs::path& path) {
  return capture_name(path).has_value();
}

std::vector<CaptureFile> find_captures(const std::vector<fs::path>& sources, Charge& charge,
                                       const std::string& split) {
  std::vector<CaptureFile> captures;
  const auto add = [&](CaptureFile file) {
    charge.add(bytes_of(file));
    captures.push_back(std::move(file));
  };
  for (const fs::path& source : sources) {
    if (!fs::exists(source)) throw InputError("no such file or folder: " + source.string());
    if (!fs::is_directory(source)) {
      const auto name = capture_name(source);
      if (!name)
        throw InputError(
            fmt::format("{}: not a capture by its name; expected {}", source.string(), kExpected));
      const fs::path folder = source.has_parent_path() ? source.parent_path() : fs::path(".");
      add(describe(folder / source.filename(), folder, *name, split));
      continue;
    }
    visit_files(source, [&](const fs::path& path) {
      if (const auto name = capture_name(path)) add(describe(path, source, *name, split));
    });
  }
  if (captures.empty()) {
    std::string searched;
    for (const fs::path& source : sources) searched.append(1, ' ').append(source.string());
    throw InputError(fmt::format("no captures ({}) under{}", kExpected, searched));
  }
  train_on_all(captures, split, charge);
  const auto key = [](const CaptureFile& file) { return std::tie(file.split, file.name); };
  std::sort(captures.begin(), captures.end(),
            [&](const CaptureFile& a, const CaptureFile& b) { return key(a) < key(b); });
  const auto twice =
      std::adjacent_find(captures.begin(), captures.end(),
                         [&](const CaptureFile& a, const CaptureFile& b) { return key(a) == key(b); });
  if (twice != captures.end())
    throw InputError(fmt::format("{} and {} are both recording '{}' of split '{}'; rename or remove one",
                                 twice->path.string(), (twice + 1)->path.string(), twice->name,
                                 twice->split));
  return captures;
}

std::optional<std::string> attack_from_name(const std::string& name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* benign : {"attack-free", "attack_free", "accessory", "benign", "clean", "normal"})
    if (lower.starts_with(benign)) return std::nullopt;
  const size_t dash = name.rfind('-');
  return dash == std::string::npos || dash == 0 ? std::nullopt : std::optional(name.substr(0, dash));
}

}  // namespace plimsoll

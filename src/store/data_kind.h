#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

struct Merged;
struct MergeRequest;

/// What can be done with data sets of one kind, beside reading their columns. Null where the kind has no such
/// operation.
struct DataKind {
  const char* name = "";
  const char* rows = "rows";  ///< what its rows are, in words
  int newest_version = 1;     ///< of its format that this program reads
  /// Adds what is wrong with a set, checksums aside, one sentence each. Errors: InputError.
  void (*verify)(const std::filesystem::path& folder, std::vector<std::string>& wrong) = nullptr;
  /// Throws the first thing that is wrong, before work that reads all of the set. Errors: InputError.
  void (*require_sound)(const std::filesystem::path& folder) = nullptr;
  /// Joins the shards of a set. Errors: those of merge_shards().
  Merged (*merge)(const MergeRequest& request) = nullptr;
};

/// Makes a kind known. A module that owns a kind has one of these beside the reader of its data sets, so that
/// every program that can read a kind knows it. Only before main().
class DataKindRegistration {
 public:
  explicit DataKindRegistration(const DataKind& kind);
};

/// Null for a kind that this program does not know. Thread-safe once main() runs.
const DataKind* find_data_kind(const std::string& name);

/// The names of all kinds whose shards can be merged, in alphabetical order.
std::vector<std::string> mergeable_kinds();

}  // namespace plimsoll

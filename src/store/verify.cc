#include "store/verify.h"

#include <fmt/format.h>

#include "base/error.h"
#include "store/column_check.h"
#include "store/data_kind.h"

namespace plimsoll {
namespace {

void verify_checksums(const DataSetView& set, std::vector<std::string>& wrong) {
  for (const auto& [name, view] : set.columns()) {
    const std::string found = column_checksum(view);
    const Json expected = set.manifest()["columns"][name].value("xxh3", Json());
    if (expected != found)
      wrong.push_back(
          fmt::format("column '{}': its checksum is {}, the manifest says {}", name, found, expected.dump()));
  }
}

}  // namespace

std::vector<std::string> verify_data_set(const std::filesystem::path& folder) {
  std::vector<std::string> wrong;
  const DataSetView set(folder);
  verify_checksums(set, wrong);
  const DataKind* const kind = find_data_kind(set.kind());
  if (kind == nullptr || kind->verify == nullptr) return wrong;
  try {
    kind->verify(folder, wrong);
  } catch (const InputError& error) {
    // Wrong checksums explain more than columns that do not match each other.
    wrong.emplace_back(error.what());
  }
  return wrong;
}

}  // namespace plimsoll

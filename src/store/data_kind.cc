#include "store/data_kind.h"

#include <map>

namespace plimsoll {
namespace {

std::map<std::string, DataKind>& kinds() {
  static std::map<std::string, DataKind> all;
  return all;
}

}  // namespace

DataKindRegistration::DataKindRegistration(const DataKind& kind) {
  kinds()[kind.name] = kind;
}

const DataKind* find_data_kind(const std::string& name) {
  const auto found = kinds().find(name);
  return found == kinds().end() ? nullptr : &found->second;
}

std::vector<std::string> mergeable_kinds() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds())
    if (kind.merge != nullptr) names.push_back(name);
  return names;
}

}  // namespace plimsoll

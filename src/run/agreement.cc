#include "run/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/version.h"
#include "engine/fit/rounding.h"
#include "store/data_set.h"

namespace plimsoll {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string quoted(const std::vector<std::string>& lines, size_t at) {
  return at < lines.size() ? "'" + lines[at].substr(lines[at].find_first_not_of(' ')) + "'" : "nothing";
}

std::string difference(const std::string& what, int rank, const std::string& first,
                       const std::string& other) {
  const std::vector<std::string> a = lines_of(first);
  const std::vector<std::string> b = lines_of(other);
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  return fmt::format("the ranks differ in {}: rank 0 has {}, rank {} has {}; make it the same on all ranks",
                     what, quoted(a, at), rank, quoted(b, at));
}

}  // namespace

void add_rounding(Facts& facts) {
  const Json here = rounding_here();
  for (const auto& [key, words] : kRoundingParts) facts.emplace_back(words, here.at(key));
}

void require_agreement(Exchange* exchange, const Facts& facts) {
  if (exchange == nullptr) return;
  Json mine = Json::object();
  for (const auto& [what, text] : facts) mine[what] = text;
  const std::vector<std::string> all = gather_texts(*exchange, json_text(mine));
  const Json first = parse_json(all.front());
  for (int rank = 1; rank < exchange->ranks(); ++rank) {
    const Json other = parse_json(all[static_cast<size_t>(rank)]);
    for (const auto& [what, text] : facts) {
      const std::string of_first = first.value(what, "");
      const std::string of_other = other.value(what, "");
      if (of_first != of_other) throw UsageError(difference(what, rank, of_first, of_other));
    }
  }
}

Facts facts_of_use(const Recipe& recipe, const std::filesystem::path& folder) {
  Facts facts = {
      {"recipe", recipe_yaml(recipe)}, {"data set", read_manifest(folder).dump(1)}, {"version", kVersion}};
  add_rounding(facts);
  return facts;
}

}  // namespace plimsoll

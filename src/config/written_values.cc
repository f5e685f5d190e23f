#include "config/written_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "config/foreign_names.h"
#include "config/yaml.h"
#include "config/yaml_names.h"

namespace plimsoll {
namespace {

// Records the lines on which documents begin.
class DocumentLines final : public YAML::EventHandler {
 public:
  std::vector<int> lines;

  void OnDocumentStart(const YAML::Mark& mark) override { lines.push_back(mark.line); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

// Returns the line of the second document of a text, if it has one. YAML::LoadAll never returns for some
// texts that are not UTF-8.
std::optional<int> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentLines documents;
  while (documents.lines.size() < 2 && parser.HandleNextDocument(documents)) continue;
  return documents.lines.size() < 2 ? std::nullopt : std::optional(documents.lines[1]);
}

void flatten(const YAML::Node& node, const std::string& prefix, const std::string& name,
             const RecipeKeys& keys, WrittenValues& values, UnknownKeys& unknown) {
  for (const auto& entry : node) {
    const YAML::Mark mark = entry.first.Mark();
    const std::string where = fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    if (!entry.first.IsScalar()) throw UsageError(where + ": a key must be a name");
    const std::string key = prefix + entry.first.as<std::string>();
    // A YAML anchor may stand for a map that contains the anchor itself, so a map deeper than any key must be
    // an error.
    constexpr auto kDeepest = 3;
    if (entry.second.IsMap() && (keys.has_section(key) || instead_of(key).empty()) &&
        std::count(key.begin(), key.end(), '.') < kDeepest) {
      flatten(entry.second, key + ".", name, keys, values, unknown);
      continue;
    }
    if (entry.second.IsNull() && keys.has_section(key)) continue;  // All of its keys are commented out.
    if (keys.find(key) == nullptr) {
      unknown.add(key, entry.second.IsScalar() ? entry.second.as<std::string>() : "", where);
      continue;
    }
    Written written{"", where, names_in(entry.second)};
    if (!written.names && !entry.second.IsScalar())
      throw UsageError(fmt::format("{}: '{}' must be a single value or a list of names", where, key));
    if (!written.names) written.text = entry.second.as<std::string>();
    if (!values.emplace(key, std::move(written)).second)
      throw UsageError(fmt::format("{}: '{}' is given twice", where, key));
  }
}

}  // namespace

WrittenValues written_values(const std::string& text, const std::string& name, const RecipeKeys& keys,
                             UnknownKeys& unknown) {
  WrittenValues values;
  try {
    if (const auto line = second_document(text))
      throw UsageError(
          fmt::format("{}:{}: a second document; expected one, with all sections", name, *line + 1));
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !root.IsNull()) throw UsageError(name + ": a recipe is a map of sections and keys");
    flatten(root, "", name, keys, values, unknown);
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}:{}:{}: not YAML: {}", name, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  return values;
}

}  // namespace plimsoll

#include "can/tasks/published.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll {
namespace {

std::optional<double> share(const Json& model, const char* key) {
  const auto found = model.find(key);
  if (found == model.end() || found->is_null()) return std::nullopt;
  if (!found->is_number() || found->get<double>() < 0 || found->get<double>() > 1)
    throw InputError(fmt::format("'{}' is {}, expected a number from 0 to 1, or null", key, found->dump()));
  return found->get<double>();
}

Published::Model model_of(const Json& model) {
  return {model.at("name").get<std::string>(), share(model, "f1"), share(model, "auc")};
}

std::string last_folder(const std::string& split) {
  return split.substr(split.rfind('/') + 1);
}

}  // namespace

Published::Published(const std::filesystem::path& path) : content_(parse_json(read_text(path))) {
  try {
    source_ = content_.at("source").get<std::string>();
    notes_ = content_.value("notes", "");
    for (const Json& split : content_.at("splits")) {
      (void)split.at("name").get<std::string>();
      if (split.contains("graphs")) (void)whole_number(split.at("graphs"));
      for (const Json& model : split.at("models")) model_of(model);
    }
  } catch (const Json::exception& error) {
    throw InputError(fmt::format(
        "{}: {}; expected {{\"source\": TEXT, \"splits\": [{{\"name\": TEXT, \"models\": [{{\"name\": TEXT, "
        "\"f1\": NUMBER, \"auc\": NUMBER}}]}}]}}",
        path.string(), content_.is_discarded() ? "is not JSON" : error.what()));
  } catch (const Error& error) {
    throw InputError(path.string() + ": " + error.what());
  }
}

std::optional<int64_t> Published::graphs(const std::string& split) const {
  for (const Json& entry : content_.at("splits"))
    if (last_folder(entry.at("name")) == last_folder(split) && entry.contains("graphs"))
      return whole_number(entry.at("graphs"));
  return std::nullopt;
}

std::vector<Published::Model> Published::models(const std::string& split) const {
  std::vector<Model> models;
  for (const Json& entry : content_.at("splits"))
    if (last_folder(entry.at("name")) == last_folder(split))
      for (const Json& model : entry.at("models")) models.push_back(model_of(model));
  return models;
}

}  // namespace plimsoll

#include "config/site.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "base/error.h"
#include "config/yaml.h"

namespace plimsoll {
namespace {

std::string place(const std::string& name, const YAML::Node& node) {
  return fmt::format("{}:{}:{}", name, node.Mark().line + 1, node.Mark().column + 1);
}

// Returns the lines of a text, or of all texts in a list.
std::vector<std::string> lines_of(const YAML::Node& node, const std::string& key, const std::string& name) {
  std::vector<std::string> lines;
  const auto add = [&](const YAML::Node& text) {
    if (!text.IsScalar())
      throw UsageError(fmt::format("{}: '{}' must be a text or a list of texts", place(name, text), key));
    std::istringstream stream(text.as<std::string>());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
  };
  if (node.IsSequence())
    for (const auto& text : node) add(text);
  else if (!node.IsNull())
    add(node);
  return lines;
}

std::string line_of(const YAML::Node& node, const std::string& key, const std::string& name) {
  const auto lines = lines_of(node, key, name);
  if (lines.size() > 1) throw UsageError(fmt::format("{}: '{}' must be one line", place(name, node), key));
  return lines.empty() ? std::string() : lines.front();
}

// Minimum limit. SLURM signals a job a minute before its limit, and may do so earlier.
constexpr int64_t kShortestLimit = 2;  // Minutes.

// Returns the TIME of --time=TIME, --time TIME, -t TIME or -tTIME; empty for any other option.
std::string time_in(const std::string& option) {
  for (const std::string_view start : {"--time=", "--time ", "-t"})
    if (option.starts_with(start)) {
      const size_t at = option.find_first_not_of(' ', start.size());
      return at == std::string::npos ? std::string() : option.substr(at);
    }
  return {};
}

void require_time_to_work(int64_t minutes, const std::string& key, const std::string& text,
                          const std::string& at) {
  if (minutes == 0 || minutes >= kShortestLimit) return;
  throw UsageError(fmt::format(
      "{}: {} is '{}', expected at least {} minutes: a job is told to stop and leave a checkpoint one minute "
      "before its limit",
      at, key, text, kShortestLimit));
}

// A count is refused, because the job appends the number of its GPUs.
void require_gres(const std::string& gres, const std::string& at) {
  const size_t colon = gres.find(':');
  const std::string last = gres.substr(gres.rfind(':') + 1);  // The whole text if there is no colon.
  const bool has_count = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
  const bool is_word = !last.empty() && colon != 0 && gres.find_first_of(" ,=\t") == std::string::npos;
  if (is_word && !has_count && (colon == std::string::npos || gres.find(':', colon + 1) == std::string::npos))
    return;
  throw UsageError(
      fmt::format("{}: gres is '{}', expected the name of the site's GPUs without a count, such as gpu or "
                  "gpu:v100 (`sinfo -o %G` shows the names); the job adds how many it needs",
                  at, gres));
}

void set(Site& site, const std::string& key, const YAML::Node& value, const YAML::Node& at,
         const std::string& name) {
  if (key == "sbatch") {
    site.sbatch = lines_of(value, key, name);
    for (const std::string& option : site.sbatch)
      if (!option.starts_with('-'))
        throw UsageError(
            fmt::format("{}: '{}' is not an option of sbatch; expected one such as --partition=gpu",
                        place(name, value), option));
    for (const std::string& option : site.sbatch)
      require_time_to_work(minutes_of(time_in(option)), "--time of sbatch", time_in(option),
                           place(name, value));
  } else if (key == "setup") {
    site.setup = lines_of(value, key, name);
  } else if (key == "scratch") {
    site.scratch = line_of(value, key, name);
  } else if (key == "gres") {
    site.gres = line_of(value, key, name);
    require_gres(site.gres, place(name, value));
  } else if (key == "max_time") {
    const std::string text = line_of(value, key, name);
    site.max_minutes = minutes_of(text);
    if (site.max_minutes == 0)
      throw UsageError(fmt::format("{}: max_time is '{}', expected a time such as \"04:00:00\", or minutes",
                                   place(name, value), text));
    require_time_to_work(site.max_minutes, "max_time", text, place(name, value));
  } else {
    throw UsageError(fmt::format("{}: unknown key '{}'; known are sbatch, setup, scratch, gres and max_time",
                                 place(name, at), key));
  }
}

}  // namespace

// Forms of sbatch: MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS.
int64_t minutes_of(const std::string& time) {
  constexpr size_t kMaxDigits = 6;
  std::vector<int64_t> numbers = {};
  std::string digits;
  bool days = false;
  for (const char c : time + ":") {
    if (c >= '0' && c <= '9' && digits.size() < kMaxDigits) {
      digits += c;
    } else if (!digits.empty() && (c == ':' || (c == '-' && numbers.empty()))) {
      days = days || c == '-';
      numbers.push_back(std::stoll(digits));
      digits.clear();
    } else {
      return 0;
    }
  }
  if (numbers.size() > (days ? 4U : 3U)) return 0;
  const auto at = [&](size_t i) { return i < numbers.size() ? numbers[i] : 0; };
  constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  int64_t seconds = 0;
  if (days)
    seconds = at(0) * kDay + at(1) * kHour + at(2) * kMinute + at(3);
  else if (numbers.size() == 3)
    seconds = at(0) * kHour + at(1) * kMinute + at(2);
  else
    seconds = at(0) * kMinute + at(1);
  return (seconds + kMinute - 1) / kMinute;
}

Site parse_site(const std::string& text, const std::string& name) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}:{}:{}: not YAML: {}", name, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  Site site;
  if (root.IsNull()) return site;
  if (!root.IsMap()) throw UsageError(name + ": expected keys such as `sbatch:` and `setup:`");
  for (const auto& entry : root) {
    if (!entry.first.IsScalar()) throw UsageError(place(name, entry.first) + ": a key must be a name");
    set(site, entry.first.as<std::string>(), entry.second, entry.first, name);
  }
  return site;
}

Site load_site(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw InputError(path.string() + ": cannot be read; --site names a file of YAML");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return parse_site(text, path.string());
}

}  // namespace plimsoll

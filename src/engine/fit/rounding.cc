#include "engine/fit/rounding.h"

#include <ATen/Version.h>
#include <fmt/format.h>

#include <cstdlib>

#include "kernels/level.h"

namespace plimsoll {
namespace {

// The version of torch at run time, which may differ from that of the build.
std::string version_of_torch() {
  constexpr std::string_view kKey = "TORCH_VERSION=";
  const std::string built = at::show_config();
  const size_t found = built.find(kKey);
  if (found == std::string::npos) return "unknown";
  const size_t begin = found + kKey.size();
  return built.substr(begin, built.find_first_of(", \n", begin) - begin);
}

const char* maker_of_processor() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") ? "Intel" : __builtin_cpu_is("amd") ? "AMD" : "other";
}

std::string text_at(const Json& rounding, const char* key) {
  const auto found = rounding.is_object() ? rounding.find(key) : rounding.end();
  return found != rounding.end() && found->is_string() ? found->get<std::string>() : "";
}

void add_part(std::string& text, const std::string& part) {
  text += (text.empty() ? "" : ", ") + part;
}

}  // namespace

Json rounding_here() {
  const char* const branch = std::getenv("MKL_CBWR");
  return {{"numerics", std::to_string(kNumerics)},
          {"kernels", name_of(kernel_level())},
          {"torch", version_of_torch()},
          {"torch_kernels", at::get_cpu_capability()},
          {"processor", maker_of_processor()},
          {"mkl_cbwr", branch != nullptr && *branch != '\0' ? branch : "AUTO"}};
}

std::string rounding_difference(const Json& before, const Json& here) {
  std::string text;
  for (const auto& [key, words] : kRoundingParts) {
    const std::string old = text_at(before, key);
    const std::string now = text_at(here, key);
    if (!old.empty() && !now.empty() && old != now)
      add_part(text, fmt::format("{} {} (here {})", words, old, now));
  }
  return text;
}

std::string rounding_in_words(const Json& rounding) {
  std::string text;
  for (const auto& [key, words] : kRoundingParts)
    if (const std::string part = text_at(rounding, key); !part.empty())
      add_part(text, fmt::format("{} {}", words, part));
  return text;
}

}  // namespace plimsoll

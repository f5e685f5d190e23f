#include "detect/dbc_names.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "ingest/text/characters.h"
#include "io/file.h"
#include "store/frames.h"

namespace plimsoll {

std::map<uint32_t, std::string> read_dbc_names(const std::filesystem::path& path) {
  // Vector's place for signals that are of no message.
  constexpr std::string_view kNoMessage = "VECTOR__INDEPENDENT_SIG_MSG";
  const std::string text = read_text(path);
  std::map<uint32_t, std::string> names;
  int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (!line.starts_with("BO_ ")) continue;
    take_word(line);
    const std::string_view id_text = take_word(line);
    std::string_view name = take_word(line);
    if (name.ends_with(':')) name.remove_suffix(1);
    if (name == kNoMessage) continue;
    uint32_t id = 0;
    const auto [stop, failed] = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    const bool sound = failed == std::errc() && stop == id_text.data() + id_text.size() && !name.empty() &&
                       (id & (kCanRemote | kCanError)) == 0 && ((id & kCanExtended) != 0 || id <= 0x7FF);
    if (!sound)
      throw InputError(
          fmt::format("{}:{}: found 'BO_ {} {}', expected a message, such as BO_ 291 Engine: 8 ECU",
                      path.string(), number, shown(id_text), shown(name)));
    names[id] = std::string(name);
  }
  return names;
}

}  // namespace plimsoll

#include <sstream>

#include "fuzz/captures.h"

namespace plimsoll {
namespace {

// The first line is the command line: COLUMNS SEPARATOR QUOTE TIME FLAGS, as in "time,id,payload,label tab -
// s .", where flags are d (IDs in decimal), D (bytes in decimal), b (lengths in bits), w (CAN FD payloads), a
// (an attack label).
FormatOptions table_options(std::string_view line) {
  FormatOptions options;
  options.name = "table";
  std::istringstream words{std::string(line)};
  std::string columns;
  std::string flags;
  std::string time;
  words >> columns >> options.separator >> options.quote >> time >> flags;
  options.time = find_word<TimeUnit>(time);
  std::istringstream list(columns);
  for (std::string column; std::getline(list, column, ',');) options.columns.push_back(column);
  if (options.quote == "-") options.quote.clear();
  const auto flag = [&](char c) { return flags.find(c) != std::string::npos; };
  options.decimal_id = flag('d');
  options.decimal_bytes = flag('D');
  options.length_in_bits = flag('b');
  if (flag('w')) options.payload = 64;
  if (flag('a')) options.attack_labels = {"attack"};
  return options;
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  std::string_view text = text_of(data, size);
  const FormatOptions options = table_options(take_line(text));
  succeeds([&] {
    expect_parsed_well(CaptureFormat::make(options, text.substr(0, 4096), "capture"), options.payload, text);
  });
  return 0;
}

#include "cli/can/capture_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/word_option.h"

namespace plimsoll {
namespace {

CLI::IsMember words(std::vector<std::string> allowed) {
  return CLI::IsMember(std::move(allowed));
}

void name_channel(const std::string& text, FormatOptions& format) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw CLI::ValidationError("--name-channel",
                               fmt::format("'{}': expected CHANNEL=NAME, such as 1=powertrain", text));
  format.channel_names[text.substr(0, equals)] = text.substr(equals + 1);
}

void add_reading(CLI::App& verb, FormatOptions& format, std::vector<std::string> formats, const char* of) {
  verb.add_option("--format", format.name, of)->check(words(std::move(formats)))->capture_default_str();
  format.payload = kChosenPayload;
  verb.add_option("--payload", format.payload,
                  "Store up to 8 or 64 payload bytes per frame; default: 64 if the captures need it, else 8")
      ->check(CLI::IsMember({8, 64}));
  verb.add_option("--channel", format.channel, "Read only this channel, if the format records channels")
      ->type_name("NAME");
  verb.add_option_function<std::vector<std::string>>(
          "--name-channel",
          [&format](const std::vector<std::string>& names) {
            for (const std::string& name : names) name_channel(name, format);
          },
          "Rename a channel, such as 1=powertrain")
      ->type_name("CHANNEL=NAME");
  add_word_option(verb, "--time", format.time,
                  "Read times in tables as s, ms or us, timeofday, none, or delta (seconds since the "
                  "previous line), and times in candump logs as s (absolute) or delta (from candump -t d); "
                  "default: s in tables, detected in candump logs");
  verb.add_option_function<std::string>(
          "--truncated", [&format](const std::string& word) { format.refuse_truncated = word == "fail"; },
          "Read the complete part of a truncated capture and warn (read), or fail")
      ->check(words({"read", "fail"}))
      ->default_str("read");
}

}  // namespace

void add_capture_options(CLI::App& verb, FormatOptions& format) {
  add_reading(verb, format, capture_formats(), "Read the capture in this format");
}

void add_merge_channels(CLI::App& verb, FormatOptions& format) {
  verb.add_flag("--merge-channels", format.merge_channels,
                "Make one recording per capture, in which each pair of channel and ID is a node; default: "
                "one recording per channel")
      ->excludes("--channel");
}

void TableOptions::add(CLI::App& verb, FormatOptions& format) {
  std::vector<std::string> formats = capture_formats();
  formats.emplace_back("table");
  add_reading(verb, format, std::move(formats), "Read the captures in this format; `table` needs --columns");
  verb.add_option("--attack-label", format.attack_labels, "Treat these texts in the label column as attacks")
      ->type_name("TEXT...");
  CLI::App* table = verb.add_option_group("table", "How to read the columns of a table");
  CLI::Option* const columns =
      table->add_option("--columns", format.columns,
                        "Assign a meaning to each column, separated by commas: time, id, channel, extended, "
                        "length, payload, byte*8, bytes, label, - (skip), ... (skip the rest)");
  columns->delimiter(',');
  table
      ->add_option("--separator", format.separator,
                   "Split columns at this separator: one character, tab, or space (any run of blanks)")
      ->capture_default_str();
  table->add_option("--quote", format.quote,
                    "Use this quote character around fields that contain separators");
  table->add_option("--id", id_, "Read IDs as hexadecimal (hex) or decimal (dec)")
      ->check(words({"hex", "dec"}))
      ->capture_default_str();
  table
      ->add_option("--bytes", bytes_,
                   "Read bytes as hexadecimal (hex) or decimal (dec); default: as for --id")
      ->check(words({"hex", "dec"}));
  table->add_option("--length", length_, "Read lengths in bytes or bits")
      ->check(words({"bytes", "bits"}))
      ->capture_default_str();
  for (const char* const name : {"--separator", "--quote", "--id", "--bytes", "--length"})
    table->get_option(name)->needs(columns);
}

void TableOptions::settle(FormatOptions& format) const {
  format.decimal_id = id_ == "dec";
  format.decimal_bytes = (bytes_.empty() ? id_ : bytes_) == "dec";
  format.length_in_bits = length_ == "bits";
  if (!format.columns.empty() && format.name == "auto") format.name = "table";
}

std::vector<std::string> TableOptions::as_words(const FormatOptions& format) const {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value, std::string_view usual) {
    if (value != usual) words.push_back(fmt::format("--{}={}", name, value));
  };
  add("columns", fmt::format("{}", fmt::join(format.columns, ",")), "");
  add("separator", format.separator, ",");
  add("quote", format.quote, "");
  add("id", id_, "hex");
  add("bytes", bytes_, "");
  if (format.time) add("time", std::string(word_of(*format.time)), "");
  add("length", length_, "bytes");
  for (const std::string& label : format.attack_labels) add("attack-label", label, "");
  return words;
}

}  // namespace plimsoll

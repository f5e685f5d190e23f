#pragma once

#include <CLI/CLI.hpp>

#include "can/capture/capture_format.h"

namespace plimsoll {

/// --format, --payload, --channel, --name-channel and --truncated: how a verb reads captures. `format`
/// outlives `verb`.
void add_capture_options(CLI::App& verb, FormatOptions& format);
/// --merge-channels, of a verb that makes recordings of captures; after the others.
void add_merge_channels(CLI::App& verb, FormatOptions& format);

/// The same, and a table whose columns the command line describes: --columns, --separator and so on. What
/// they say is in format() after parsing.
class TableOptions {
 public:
  void add(CLI::App& verb, FormatOptions& format);
  /// Completes `format` by the words that were given.
  void settle(FormatOptions& format) const;
  /// The words that say the same to another verb: how the table is to be read, and its labels.
  std::vector<std::string> as_words(const FormatOptions& format) const;

 private:
  std::string id_ = "hex";
  std::string bytes_;
  std::string length_ = "bytes";
};

}  // namespace plimsoll

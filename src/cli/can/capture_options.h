#pragma once

#include <CLI/CLI.hpp>

#include "can/capture/capture_format.h"

namespace plimsoll {

/// Adds --format, --payload, --channel, --name-channel and --truncated, which say how a verb reads captures.
/// `format` outlives `verb`.
void add_capture_options(CLI::App& verb, FormatOptions& format);
/// Adds --merge-channels to a verb that makes recordings of captures; call it after the others.
void add_merge_channels(CLI::App& verb, FormatOptions& format);

/// The capture options, and a table whose columns the command line describes: --columns, --separator and so
/// on. The result is in the format after parsing.
class TableOptions {
 public:
  void add(CLI::App& verb, FormatOptions& format);
  /// Completes `format` by the values given.
  void settle(FormatOptions& format) const;
  /// The arguments that pass the same to another verb: how to read the table, and its labels.
  std::vector<std::string> as_words(const FormatOptions& format) const;

 private:
  std::string id_ = "hex";
  std::string bytes_;
  std::string length_ = "bytes";
};

}  // namespace plimsoll

#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace plimsoll {

/// Shows the part of `plimsoll inspect` that is specific to one kind of data set. Not thread-safe.
class Inspector {
 public:
  virtual ~Inspector() = default;
  /// Returns the kind in the manifest of the data sets that this inspector reads.
  virtual std::string kind() const = 0;
  /// Adds and returns the options of this inspector. Parsing the command line sets them in this object, which
  /// must outlive `verb`.
  virtual std::vector<CLI::Option*> add_options(CLI::App& /*verb*/) { return {}; }
  /// Prints a readable summary. Errors: InputError.
  virtual void print(const std::string& folder) const = 0;
  /// Adds the results of these options to the manifest that --json prints. Errors: InputError.
  virtual void add_json(const std::string& /*folder*/, Json& /*json*/) const {}
};

std::unique_ptr<Inspector> inspector_can();  // Defined in cli/can.

}  // namespace plimsoll

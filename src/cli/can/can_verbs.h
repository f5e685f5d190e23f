#pragma once

#include "cli/verbs.h"

namespace plimsoll {

// One file per verb. Each function adds a subcommand, whose callback does the work.
void add_windows(CLI::App& app);
void add_convert(CLI::App& app, char** argv);  // May become a verb of the Python package.
void add_check(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_detect(CLI::App& app);
void add_detector(CLI::App& app);

}  // namespace plimsoll

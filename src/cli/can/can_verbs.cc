#include "cli/can/can_verbs.h"

namespace plimsoll {

std::vector<Verb> can_verbs(char** argv) {
  return {{{"windows"}, add_windows}, {{"convert"}, [argv](CLI::App& app) { add_convert(app, argv); }},
          {{"check"}, add_check},     {{"calibrate"}, add_calibrate},
          {{"detect"}, add_detect},   {{"detector"}, add_detector}};
}

}  // namespace plimsoll
